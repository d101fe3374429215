import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { waitFor } from '../../rig/program.ts';
import { createEthernet } from '../../vstation/ethernet.ts';
import { createHome, internetAddress } from '../../vstation/home.ts';
import type { Machine } from '../../vstation/machine.ts';
import { createPhone } from '../../vstation/phone.ts';
import { renewMachine, sharedMachine } from './shared-machine.ts';

// The virtual station alone, without the agent: what the other tests of this folder rely on.
describe('the virtual station', () => {
  let machine: Machine;
  before(async () => {
    machine = await sharedMachine();
    await renewMachine(machine);
  });

  const connectivity = (device: string): Promise<string> =>
    machine.must(`nmcli -g GENERAL.STATE device show ${device}`);

  it('takes commands and says how they ended', async (t) => {
    t.diagnostic(`boot ${(machine.bootMs / 1000).toFixed(1)} s`);
    const started = performance.now();
    assert.deepEqual(await machine.run('echo out; echo err >&2; exit 3'), {
      code: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    });
    t.diagnostic(`a command ${(performance.now() - started).toFixed(0)} ms`);
    assert.equal((await machine.run('sleep 30', { timeoutMs: 1000 })).code, 124);
    const text = `${'long line '.repeat(20_000)}\n'"$\\ü\n`;
    await machine.writeFile('/tmp/a folder/file', text);
    assert.equal(await machine.readFile('/tmp/a folder/file'), text);
    assert.equal(await machine.readFile('/tmp/none'), null);
  });

  it('joins a home router, whose every name leads to the internet', async (t) => {
    const home = createHome(machine);
    const ssid = 'Дім 🏠';
    await home.startRouter({ ssid, security: 'wpa2', password: 'correct horse' });
    await waitFor('the radio', async () => !/^(10|20) /.test(await connectivity('wlan0')), 60_000);
    const started = performance.now();
    // The first scan after the boot may come back empty.
    await waitFor(
      'the network in a scan',
      async () => (await machine.must('nmcli -g SSID device wifi list --rescan yes')).includes(ssid),
      60_000,
    );
    await machine.must(`nmcli -w 60 device wifi connect '${ssid}' password 'correct horse'`, { timeoutMs: 70_000 });
    t.diagnostic(`seen and joined after ${((performance.now() - started) / 1000).toFixed(1)} s`);
    assert.equal((await home.stations()).length, 1);
    const page = await machine.must('curl -s -m 10 http://example.test/');
    assert.equal(page, 'the internet');
    await home.stopRouter();
  });

  it('has a phone that joins, asks its DNS server, and fetches pages', async (t) => {
    const home = createHome(machine);
    const phone = createPhone(machine);
    await home.startRouter({ ssid: 'Open', security: 'open', channel: 1 });
    const isSeen = async (): Promise<boolean> =>
      (await phone.scan()).some(({ ssid, isSecured }) => ssid === 'Open' && !isSecured);
    await waitFor('the network in a scan of the phone', isSeen, 60_000);
    const started = performance.now();
    const lease = await phone.join('Open');
    t.diagnostic(`the phone joined after ${((performance.now() - started) / 1000).toFixed(1)} s`);
    assert.equal(lease.router, '192.168.77.1');
    assert.equal(lease.dns, '192.168.77.1');
    assert.deepEqual(await phone.dnsLookup('example.test', 'A'), { addresses: [internetAddress], problem: null });
    assert.equal((await phone.fetch('http://example.test/generate_204')).status, 204);
    const page = await phone.fetch('http://example.test/', { form: { a: "it's" } });
    assert.equal(page.body, 'the internet');
    assert.equal((await phone.fetch('http://example.test:81/')).curlCode, 7);
    await phone.leave();
    assert.equal(await phone.isJoined(), false);
    await home.startRouter({ ssid: 'Third', security: 'wpa3', password: 'correct horse', hasInternet: false });
    assert.equal((await phone.join('Third', { password: 'correct horse', sae: true })).router, '192.168.77.1');
    assert.equal((await phone.fetch('http://example.test/')).curlCode, 6);
    await phone.leave();
    await home.stopRouter();
  });

  it('has a wired connection that NetworkManager takes up', async () => {
    const ethernet = createEthernet(machine);
    await ethernet.plug();
    await waitFor('an address', async () => (await connectivity('eth9')).startsWith('100 '), 60_000);
    await ethernet.unplug();
    await waitFor('no carrier', async () => (await connectivity('eth9')).startsWith('20 '), 60_000);
  });
});
