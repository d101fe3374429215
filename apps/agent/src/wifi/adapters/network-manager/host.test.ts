import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { countNeighbours, createForwarding, gatewayOf, isDnsPortTaken, readBlocked } from './host.ts';

let folder: string;
describe('the host of NetworkManager', () => {
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'station-host-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function put(path: string, text: string): Promise<void> {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const heading = '  sl  local_address rem_address   st tx_queue rx_queue\n';

  test('radio switches: a hard one outweighs a soft one, and Bluetooth does not count', async () => {
    assert.equal(await readBlocked(folder), 'no');
    const set = async (name: string, type: string, soft: number, hard: number): Promise<void> => {
      await put(`class/rfkill/${name}/type`, `${type}\n`);
      await put(`class/rfkill/${name}/soft`, `${soft}\n`);
      await put(`class/rfkill/${name}/hard`, `${hard}\n`);
    };
    await set('rfkill0', 'bluetooth', 1, 1);
    assert.equal(await readBlocked(folder), 'no');
    await set('rfkill1', 'wlan', 1, 0);
    assert.equal(await readBlocked(folder), 'soft');
    await set('rfkill2', 'wlan', 0, 1);
    assert.equal(await readBlocked(folder), 'hard');
  });

  test('the default gateway of an interface is read from its little-endian hex', () => {
    const routes = `Iface\tDestination\tGateway\tFlags
eth0\t0002A8C0\t00000000\t0001
wlan0\t00000000\t0101A8C0\t0003
eth0\t00000000\tFE02A8C0\t0003`;
    assert.equal(gatewayOf(routes, 'eth0'), '192.168.2.254');
    assert.equal(gatewayOf(routes, 'eth1'), null);
    assert.equal(gatewayOf('', 'eth0'), null);
  });

  for (const [what, file, line, isTaken] of [
    ['nobody', 'tcp', '', false],
    ['a listener on every address', 'tcp', '0: 00000000:0035 00000000:0000 0A', true],
    ['a listener on every IPv6 address', 'tcp6', `0: ${'0'.repeat(32)}:0035 ${'0'.repeat(32)}:0000 0A`, true],
    ['a datagram socket on every address', 'udp', '0: 00000000:0035 00000000:0000 07', true],
    ['one on loopback only', 'udp', '0: 3500007F:0035 00000000:0000 07', false],
    ['another port', 'udp', '0: 00000000:0043 00000000:0000 07', false],
    ['a query that goes out', 'tcp', '0: 00000000:0035 00000000:0000 01', false],
  ] as const)
    test(`port 53: ${what} ${isTaken ? 'is' : 'is not'} in the way`, async () => {
      await put(`net/${file}`, `${heading}   ${line} 00000000:00000000\n`);
      assert.equal(await isDnsPortTaken(folder), isTaken);
    });

  test('neighbours count when their entry is complete and on that interface', async () => {
    await put(
      'net/arp',
      `IP address       HW type     Flags       HW address            Mask     Device
192.0.2.50       0x1         0x2         02:00:00:00:02:00     *        wlan0
192.0.2.51       0x1         0x0         00:00:00:00:00:00     *        wlan0
10.0.0.1         0x1         0x2         02:00:00:00:03:00     *        eth0
`,
    );
    assert.equal(await countNeighbours(folder, 'wlan0'), 1);
  });

  test('forwarding is closed on one interface, and follows the machine again afterwards', async () => {
    const file = 'sys/net/ipv4/conf/wlan0/forwarding';
    await put(file, '1\n');
    await put('sys/net/ipv4/ip_forward', '1\n');
    const forwarding = createForwarding(folder);
    await forwarding.close('wlan0');
    assert.equal(await readFile(join(folder, file), 'utf8'), '0\n');
    await forwarding.restore('wlan0');
    assert.equal(await readFile(join(folder, file), 'utf8'), '1\n');
    await forwarding.restore('gone0');
    await forwarding.restore('../../ip_forward');
    await assert.rejects(forwarding.close('gone0'), { code: 'ENOENT' });
  });
});
