import { events } from '@station/protocol/events';
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { undoHotspot } from '@station/agent/wifi/adapters/network-manager/network-manager';
import { systemClock } from '@station/kit/clock';
import { createLogger } from '@station/kit/logger';
import { createStage, forever, hotspot, profile, type Stage } from './stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await createStage();
});
afterEach(() => stage[Symbol.asyncDispose]());

const forwarding = (): string => join(stage.folder, 'proc/sys/net/ipv4/conf/wlan0/forwarding');
const answersFile = (): string => join(stage.folder, 'dnsmasq/station-portal.conf');
const added = () => stage.fake.added.at(-1);

test('the hotspot has DNS and addresses, forwards nothing, and leaves nothing behind', async () => {
  assert.deepEqual(await stage.radio.startHotspot({ ...hotspot, password: 'setup1234' }, forever), { kind: 'started' });
  assert.deepEqual(added()?.options, { persist: 'volatile', 'bind-activation': 'dbus-client' });
  assert.equal(added()?.settings['802-11-wireless-security']?.['pmf'], 1);
  assert.match(await readFile(answersFile(), 'utf8'), /^address=\/#\/192\.0\.2\.1$/m);
  assert.equal((await readFile(forwarding(), 'utf8')).trim(), '0');
  stage.fake.setStations(2);
  await stage.until(async () => (await stage.radio.observe()).radio?.hotspot?.clients === 2);
  assert.deepEqual((await stage.radio.observe()).radio?.hotspot, { ssid: hotspot.ssid, ip: '192.0.2.1', clients: 2 });
  assert.deepEqual(await stage.radio.startHotspot(hotspot, forever), { kind: 'started' }, 'stopped twice');
  assert.equal(stage.fake.added.length, 1);
  await stage.radio.stopHotspot();
  await stage.radio.stopHotspot();
  assert.deepEqual(stage.fake.profiles(), []);
  await assert.rejects(readFile(answersFile()), { code: 'ENOENT' });
  assert.equal((await readFile(forwarding(), 'utf8')).trim(), '1', 'Docker needs it in the home network');
  assert.equal((await stage.radio.observe()).radio?.state, 'disconnected');
});

test('the hotspot uses HOTSPOT_ADDRESS, and its DNS answers with it', async () => {
  const elsewhere = { ...hotspot, address: '198.51.100.9', prefixLength: 26 };
  assert.deepEqual(await stage.radio.startHotspot(elsewhere, forever), { kind: 'started' });
  assert.match(await readFile(answersFile(), 'utf8'), /^address=\/#\/198\.51\.100\.9$/m);
  assert.match(JSON.stringify(added()?.settings['ipv4']), /"198\.51\.100\.9".*26/);
  assert.equal((await stage.radio.observe()).radio?.hotspot?.ip, '198.51.100.9');
  await stage.radio.stopHotspot();
});

test('WIFI_INTERFACE selects the radio, and another one is not used', async () => {
  await stage.renew({}, 'wlan0');
  assert.equal((await stage.radio.observe()).radio?.interface, 'wlan0');
  await stage.renew({}, 'wlan7');
  assert.equal((await stage.radio.observe()).radio, null);
  assert.equal((await stage.radio.startHotspot(hotspot, forever)).kind, 'failed');
  assert.equal(stage.fake.added.length, 0);
});

test('changes of a killed process are undone, also without NetworkManager', async () => {
  assert.deepEqual(await stage.radio.startHotspot(hotspot, forever), { kind: 'started' });
  await undoHotspot({
    dnsmasqFolder: join(stage.folder, 'dnsmasq'),
    kernel: { sys: join(stage.folder, 'sys'), proc: join(stage.folder, 'proc') },
    logger: createLogger({ catalogue: events, clock: systemClock, write: assert.fail, level: 'debug', secrets: [] }),
  });
  await assert.rejects(readFile(answersFile()), { code: 'ENOENT' });
  assert.equal((await readFile(forwarding(), 'utf8')).trim(), '1');
});

test('reports another DNS server on every address before the hotspot starts', async () => {
  await writeFile(
    join(stage.folder, 'proc/net/udp'),
    '  sl local\n 1: 00000000:0035 00000000:0000 07 00000000:00000000\n',
  );
  const answer = await stage.radio.startHotspot(hotspot, forever);
  assert.equal(answer.kind === 'failed' && answer.reason, 'dns_port_taken');
  assert.deepEqual(stage.fake.added, []);
});

test('a hotspot that fails to start is undone', async () => {
  stage.fake.scripts = [[{ state: 40 }, { state: 50 }, { state: 120, reason: 19 }]];
  const answer = await stage.radio.startHotspot(hotspot, forever);
  assert.equal(answer.kind === 'failed' && answer.reason, 'failed');
  assert.deepEqual(stage.fake.profiles(), []);
  await assert.rejects(readFile(answersFile()), { code: 'ENOENT' });
});

test('removes the hotspot, idle candidate and file of an earlier process, but no profiles of people', async () => {
  stage.fake.addProfile(profile('Station-1234', {}, 'hotspot'), true);
  stage.fake.addProfile(profile('Half', {}, 'network'), true);
  const stays = [stage.fake.addProfile(profile('Home')), stage.fake.addProfile(profile('Kept', {}, 'network'))];
  await stage.radio.stopHotspot();
  assert.deepEqual(stage.fake.profiles(), stays);
});

test('reports and removes the leftovers of a hotspot that ended with its NetworkManager', async () => {
  assert.equal((await stage.radio.observe()).hasLeftovers, false);
  assert.deepEqual(await stage.radio.startHotspot(hotspot, forever), { kind: 'started' });
  await stage.fake[Symbol.asyncDispose]();
  await stage.until(async () => (await stage.radio.observe()).manager === 'absent');
  assert.equal((await stage.radio.observe()).hasLeftovers, true, 'also while NetworkManager does not answer');
  assert.equal((await stage.radio.observe()).hasRoute, false);
  await stage.replaceManager();
  await stage.until(async () => (await stage.radio.observe()).manager === 'running');
  await writeFile(join(stage.folder, 'proc/net/route'), 'Iface\tDestination\tGateway\neth0\t00000000\t0109090A\n');
  assert.equal((await stage.radio.observe()).hasRoute, true, 'also a hotspot of another process');
  const { hasLeftovers, radio } = await stage.radio.observe();
  assert.deepEqual([hasLeftovers, radio?.hotspot], [true, null]);
  await stage.radio.stopHotspot();
  assert.equal((await stage.radio.observe()).hasLeftovers, false);
  assert.equal((await readFile(forwarding(), 'utf8')).trim(), '1');
});
