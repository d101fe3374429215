import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { Variant } from '@jellybrick/dbus-next';
import { systemClock } from '@station/kit/clock';
import { createReport } from '@station/kit/report';
import type { JoinRequest } from '../../wifi/ports.ts';
import { ssidFromText } from '../../wifi/ssid.ts';
import { createNetworkManager, type Limits, type NetworkManager } from './network-manager.ts';
import { deviceState, interfaces, managerPath } from './objects.ts';
import { ethernetPath, startFakeNetworkManager, type FakeNetworkManager } from './testing/fake-network-manager.ts';
import { startPrivateBus, type PrivateBus } from './testing/private-bus.ts';

const home = ssidFromText('Home');
const utf8 = (text: string): Uint8Array => Buffer.from(text);
const forever = new AbortController().signal;
const password = 'correct horse';
const request: JoinRequest = { ssid: home, security: null, password, isHidden: false };
const hotspot = { ssid: ssidFromText('Station-1234'), password: null, address: '192.0.2.1', prefixLength: 24 };
const sae = 0x488;

let folder: string;
let bus: PrivateBus;
let fake: FakeNetworkManager;
let radio: NetworkManager;
let lines: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'station-nm-'));
  await mkdir(join(folder, 'proc/net'), { recursive: true });
  await mkdir(join(folder, 'proc/sys/net/ipv4/conf/wlan0'), { recursive: true });
  await writeFile(forwarding(), '1\n');
  await writeFile(join(folder, 'proc/sys/net/ipv4/ip_forward'), '1\n');
  bus = await startPrivateBus();
  fake = await startFakeNetworkManager(bus.address);
  radio = connect();
  assert.equal((await radio.observe()).manager, 'running', 'the first question waits for the connection');
});
afterEach(async () => {
  await radio[Symbol.asyncDispose]();
  await fake[Symbol.asyncDispose]();
  await bus[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const forwarding = (): string => join(folder, 'proc/sys/net/ipv4/conf/wlan0/forwarding');
const answersFile = (): string => join(folder, 'dnsmasq/station-portal.conf');

function connect(limits: Partial<Limits> = {}): NetworkManager {
  lines = [];
  return createNetworkManager({
    busAddress: bus.address,
    interface: null,
    dnsmasqFolder: join(folder, 'dnsmasq'),
    kernel: { sys: join(folder, 'sys'), proc: join(folder, 'proc') },
    clock: systemClock,
    limits,
    report: createReport({
      clock: systemClock,
      write: (line) => void lines.push(line),
      level: 'debug',
      secrets: [],
    }),
  });
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await Promise.race([radio.changed(forever), systemClock.sleep(20)]);
}

const added = () => fake.added.at(-1);
const profile = (ssid: string, keys: Record<string, unknown> = {}, mark?: string) => ({
  connection: {
    type: new Variant('s', '802-11-wireless'),
    uuid: new Variant('s', `00000000-0000-0000-0000-${ssid.padStart(12, '0')}`),
    autoconnect: new Variant('b', keys['autoconnect'] !== false),
  },
  '802-11-wireless': {
    ssid: new Variant('ay', Buffer.from(ssid)),
    hidden: new Variant('b', keys['hidden'] === true),
  },
  ...(mark === undefined ? {} : { user: { data: new Variant('a{ss}', { 'station.agent': mark }) } }),
});

test('says what is there: radio, cable, known networks', async () => {
  fake.addProfile(profile('Home'));
  fake.addProfile(profile('Never', { autoconnect: false }));
  fake.addProfile(profile('Tried', {}, 'network'), true);
  const facts = await radio.observe();
  assert.deepEqual(facts, {
    manager: 'running',
    radio: {
      interface: 'wlan0',
      isManaged: true,
      blocked: 'no',
      canBeAccessPoint: true,
      state: 'disconnected',
      client: null,
      hotspot: null,
    },
    ethernet: null,
    known: [home],
  });
});

test('a cable with an address is told, and wakes who waits for a change', async () => {
  await radio.observe();
  const changed = radio.changed(forever);
  fake.set(`${managerPath}/IP4Config/90`, interfaces.ip4, {
    AddressData: new Variant('aa{sv}', [{ address: new Variant('s', '10.1.0.4'), prefix: new Variant('u', 24) }]),
    Gateway: new Variant('s', '10.1.0.1'),
  });
  fake.set(ethernetPath, interfaces.device, {
    State: new Variant('u', deviceState.activated),
    Ip4Config: new Variant('o', `${managerPath}/IP4Config/90`),
  });
  await changed;
  await until(async () => (await radio.observe()).ethernet !== null);
  assert.deepEqual((await radio.observe()).ethernet, { interface: 'eth0', ip: '10.1.0.4', gateway: '10.1.0.1' });
});

test('a switch that holds the radio is told, and a soft one lifted', async () => {
  fake.set(managerPath, interfaces.manager, { WirelessEnabled: new Variant('b', false) });
  assert.equal((await radio.observe()).radio?.blocked, 'soft');
  assert.equal(await radio.unblock(), true);
  assert.equal((await radio.observe()).radio?.blocked, 'no');
  const folders = join(folder, 'sys/class/rfkill/rfkill0');
  await mkdir(folders, { recursive: true });
  for (const [name, value] of [
    ['type', 'wlan'],
    ['soft', '0'],
    ['hard', '1'],
  ] as const)
    await writeFile(join(folders, name), `${value}\n`);
  assert.equal((await radio.observe()).radio?.blocked, 'hard');
});

test('scans afresh, asks hidden networks by name, and merges access points of one network', async () => {
  fake.addAccessPoint({ ssid: utf8('Home'), strength: 40 });
  fake.addAccessPoint({ ssid: utf8('Home'), strength: 80 });
  fake.addAccessPoint({ ssid: new Uint8Array(8), strength: 90 });
  fake.addProfile(profile('Home'));
  fake.appearing = [{ ssid: Buffer.from([0xff, 0x00, 0x27]), strength: 60, rsn: 0, flags: 0 }];
  const networks = await radio.scan({ hidden: [ssidFromText('Cellar')] }, forever);
  assert.deepEqual(networks, [
    { ssid: home, security: 'wpa2', signal: 80, isKnown: true },
    { ssid: 'ff0027', security: 'open', signal: 60, isKnown: false },
  ]);
  assert.deepEqual(radio.networks(), networks);
  assert.deepEqual(
    fake.scanned.map((names) => names.map(String)),
    [['Cellar']],
  );
});

test('a radio that is busy is asked again', async () => {
  fake.refusedScans = 1;
  fake.appearing = [{ ssid: utf8('Home') }];
  assert.equal((await radio.scan({}, forever)).length, 1);
});

test('joins with a profile in memory, then keeps it and removes older ones of ours only', async () => {
  fake.addAccessPoint({ ssid: utf8('Home') });
  const ofPeople = fake.addProfile(profile('Home'));
  const older = fake.addProfile(profile('Home', {}, 'network'));
  const other = fake.addProfile(profile('Other', {}, 'network'));
  const outcome = await radio.join(request, forever);
  assert.equal(outcome.kind, 'joined');
  assert.equal(outcome.ip, '10.0.0.7');
  assert.deepEqual(added()?.options, { persist: 'memory' });
  assert.deepEqual(added()?.settings['802-11-wireless-security'], { 'key-mgmt': 'wpa-psk', psk: password });
  const { radio: now } = await radio.observe();
  assert.deepEqual(now?.client, {
    ssid: home,
    ip: '10.0.0.7',
    gateway: '10.0.0.1',
    signal: 50,
    candidateId: outcome.candidateId,
  });
  assert.ok(fake.profiles().includes(older), 'nothing older is touched before it is kept');
  assert.equal(await radio.keepCandidate(outcome.candidateId), true);
  assert.equal(fake.profiles().includes(older), false);
  assert.ok(fake.profiles().includes(ofPeople) && fake.profiles().includes(other));
  await radio.dropCandidate(outcome.candidateId);
  const after = await radio.observe();
  assert.equal(after.radio?.client?.candidateId, null, 'what is kept is no candidate and stays');
});

for (const [name, script, failure] of [
  ['a wrong WPA2 password', [{ state: 40 }, { state: 50 }, { state: 60, reason: 8 }], 'wrong_password'],
  ['no lease', [{ state: 40 }, { state: 50 }, { state: 70 }, { state: 120, reason: 5 }], 'no_address'],
] as const)
  test(`${name} fails as ${failure}, and the candidate is gone`, async () => {
    fake.addAccessPoint({ ssid: utf8('Home') });
    fake.scripts = [[...script]];
    const outcome = await radio.join(request, forever);
    assert.equal(outcome.kind === 'failed' && outcome.failure, failure);
    assert.deepEqual(fake.profiles(), []);
    assert.equal(JSON.stringify([outcome, lines]).includes(password), false);
  });

test('a wrong WPA3 password is told as soon as the access point rejects it', async () => {
  fake.addAccessPoint({ ssid: utf8('Home'), rsn: sae & ~0x100 });
  fake.scripts = [[{ state: 40 }, { state: 50 }, { supplicant: { authentication: 1 } }]];
  const outcome = await radio.join(request, forever);
  assert.equal(outcome.kind === 'failed' && outcome.failure, 'wrong_password');
  assert.equal(added()?.settings['802-11-wireless-security']?.['key-mgmt'], 'sae');
});

test('where SAE does not come about, a mixed network is tried once more without it', async () => {
  fake.addAccessPoint({ ssid: utf8('Home'), rsn: sae | 0x100 });
  fake.scripts = [[{ state: 40 }, { state: 50 }, { state: 120, reason: 53 }]];
  const outcome = await radio.join(request, forever);
  assert.equal(outcome.kind, 'joined');
  assert.deepEqual(
    fake.added.map(({ settings }) => settings['802-11-wireless-security']?.['pmf']),
    [undefined, 1],
  );
});

test('a network that no scan meets is not found; a hidden one is asked for by name', async () => {
  await radio[Symbol.asyncDispose]();
  radio = connect({ findMs: 300 });
  const missing = await radio.join(request, forever);
  assert.equal(missing.kind === 'failed' && missing.failure, 'not_found');
  fake.appearing = [{ ssid: utf8('Home') }];
  const hidden = await radio.join({ ...request, isHidden: true }, forever);
  assert.equal(hidden.kind, 'joined');
  assert.equal(added()?.settings['802-11-wireless']?.['hidden'], true);
  assert.deepEqual(new Set(fake.scanned.flat().map(String)), new Set(['Home']));
});

test('what a scan met is looked for on its channels before it is joined; a scan of everything is stopped for it', async () => {
  fake.addAccessPoint({ ssid: utf8('Home'), frequency: 2412 });
  fake.addAccessPoint({ ssid: utf8('Home'), frequency: 5180 });
  await radio.scan({}, forever);
  fake.isScanning = true;
  assert.equal((await radio.join(request, forever)).kind, 'joined');
  assert.deepEqual(fake.searched, [{ ssid: 'Home', frequencies: [2412, 5180] }]);
  assert.equal(fake.isScanning, false);
});

test('a hidden network that no scan meets is tried all the same, with whatever it may want', async () => {
  await radio[Symbol.asyncDispose]();
  radio = connect({ findMs: 300 });
  const outcome = await radio.join({ ...request, isHidden: true }, forever);
  assert.equal(outcome.kind, 'joined');
  assert.deepEqual(added()?.settings['802-11-wireless-security'], { 'key-mgmt': 'wpa-psk', psk: password });
  fake.scripts = [[{ state: 40 }, { state: 50 }, { state: 120, reason: 53 }]];
  const missing = await radio.join({ ...request, isHidden: true }, forever);
  assert.equal(missing.kind === 'failed' && missing.failure, 'not_found');
});

test('a profile that NetworkManager does not take is a verdict, not an exception', async () => {
  fake.addAccessPoint({ ssid: utf8('Home') });
  fake.refusals = ['org.freedesktop.NetworkManager.Settings.Connection.InvalidProperty'];
  const outcome = await radio.join(request, forever);
  assert.equal(outcome.kind === 'failed' && outcome.failure, 'wrong_password');
});

test('names of any bytes and keys of any characters reach NetworkManager as they are', async () => {
  for (let round = 0; round < 40; round += 1) {
    // Not all zeros: that is how a hidden network's beacon looks.
    const ssid = Buffer.concat([randomBytes(randomInt(0, 32)), Buffer.from([randomInt(1, 256)])]);
    const key = Array.from({ length: randomInt(8, 64) }, () => String.fromCharCode(randomInt(0x20, 0x7f))).join('');
    fake.addAccessPoint({ ssid });
    const outcome = await radio.join({ ...request, ssid: ssid.toString('hex'), password: key }, forever);
    assert.equal(outcome.kind, 'joined', ssid.toString('hex'));
    assert.deepEqual(added()?.settings['802-11-wireless']?.['ssid'], ssid);
    assert.equal(added()?.settings['802-11-wireless-security']?.['psk'], key);
    assert.equal((await radio.observe()).radio?.client?.ssid, ssid.toString('hex'));
    await radio.dropCandidate(outcome.candidateId);
  }
});

test('known networks in reach are tried strongest first until one works', async () => {
  fake.addAccessPoint({ ssid: utf8('Home'), strength: 30 });
  fake.addAccessPoint({ ssid: utf8('Office'), strength: 70 });
  fake.addProfile(profile('Home'));
  fake.addProfile(profile('Office'));
  fake.addProfile(profile('Away'));
  fake.scripts = [[{ state: 40 }, { state: 120, reason: 7 }]];
  assert.deepEqual(await radio.joinKnown(30_000, forever), { kind: 'joined', ip: '10.0.0.7' });
  assert.equal((await radio.observe()).radio?.client?.ssid, home);
});

test('no known network in reach is not found', async () => {
  fake.addProfile(profile('Away'));
  const outcome = await radio.joinKnown(30_000, forever);
  assert.equal(outcome.kind === 'failed' && outcome.failure, 'not_found');
});

test('the hotspot stands with names and addresses, lets nobody through, and leaves nothing behind', async () => {
  assert.deepEqual(await radio.startHotspot({ ...hotspot, password: 'setup1234' }, forever), { kind: 'started' });
  assert.deepEqual(added()?.options, { persist: 'volatile', 'bind-activation': 'dbus-client' });
  assert.equal(added()?.settings['802-11-wireless-security']?.['pmf'], 1);
  assert.match(await readFile(answersFile(), 'utf8'), /^address=\/#\/192\.0\.2\.1$/m);
  assert.equal((await readFile(forwarding(), 'utf8')).trim(), '0');
  fake.setStations(2);
  await until(async () => (await radio.observe()).radio?.hotspot?.clients === 2);
  assert.deepEqual((await radio.observe()).radio?.hotspot, { ssid: hotspot.ssid, ip: '192.0.2.1', clients: 2 });
  assert.deepEqual(await radio.startHotspot(hotspot, forever), { kind: 'started' }, 'asked for twice');
  assert.equal(fake.added.length, 1);
  await radio.stopHotspot();
  await radio.stopHotspot();
  assert.deepEqual(fake.profiles(), []);
  await assert.rejects(readFile(answersFile()), { code: 'ENOENT' });
  assert.equal((await readFile(forwarding(), 'utf8')).trim(), '1', 'Docker needs it in the home network');
  assert.equal((await radio.observe()).radio?.state, 'disconnected');
});

test('another resolver on every address is named before the hotspot is tried', async () => {
  await writeFile(join(folder, 'proc/net/udp'), '  sl local\n 1: 00000000:0035 00000000:0000 07 00000000:00000000\n');
  const answer = await radio.startHotspot(hotspot, forever);
  assert.equal(answer.kind === 'failed' && answer.reason, 'dns_port_taken');
  assert.deepEqual(fake.added, []);
});

test('a hotspot that does not come up is undone', async () => {
  fake.scripts = [[{ state: 40 }, { state: 50 }, { state: 120, reason: 19 }]];
  const answer = await radio.startHotspot(hotspot, forever);
  assert.equal(answer.kind === 'failed' && answer.reason, 'failed');
  assert.deepEqual(fake.profiles(), []);
  await assert.rejects(readFile(answersFile()), { code: 'ENOENT' });
});

test('what an earlier process left is removed: hotspot, idle candidate, file; nothing of people', async () => {
  fake.addProfile(profile('Station-1234', {}, 'hotspot'), true);
  fake.addProfile(profile('Half', {}, 'network'), true);
  const stays = [fake.addProfile(profile('Home')), fake.addProfile(profile('Kept', {}, 'network'))];
  await radio.stopHotspot();
  assert.deepEqual(fake.profiles(), stays);
});

test('NetworkManager goes and comes back; so does the bus', async () => {
  await fake[Symbol.asyncDispose]();
  await until(async () => (await radio.observe()).manager === 'absent');
  assert.equal((await radio.join(request, forever)).kind, 'failed');
  assert.equal((await radio.startHotspot(hotspot, forever)).kind, 'failed');
  await radio.stopHotspot();
  fake = await startFakeNetworkManager(bus.address);
  await until(async () => (await radio.observe()).manager === 'running');
  await fake[Symbol.asyncDispose]();
  await bus.stop();
  await until(async () => (await radio.observe()).manager === 'absent');
  await bus.start();
  fake = await startFakeNetworkManager(bus.address);
  await until(async () => (await radio.observe()).manager === 'running');
  fake.addAccessPoint({ ssid: utf8('Home') });
  assert.equal((await radio.join(request, forever)).kind, 'joined');
});

test('NetworkManager that dies in the middle of a join ends it', async () => {
  fake.addAccessPoint({ ssid: utf8('Home') });
  fake.scripts = [[{ state: 40 }, { state: 50 }]];
  const joining = radio.join(request, forever);
  await until(async () => (await radio.observe()).radio?.state === 'connecting');
  await fake[Symbol.asyncDispose]();
  assert.equal((await joining).kind, 'failed');
  fake = await startFakeNetworkManager(bus.address);
});

test('hundreds of operations leave no listener behind, and no match rule', async () => {
  fake.addAccessPoint({ ssid: utf8('Home') });
  const before = { listeners: radio.listenerCount(), rules: await bus.countMatchRules() };
  const ending = new AbortController();
  for (let round = 0; round < 150; round += 1) {
    void radio.changed(ending.signal);
    await radio.observe();
    await radio.scan({}, forever);
    const outcome = await radio.join(request, forever);
    assert.equal(outcome.kind, 'joined');
    await radio.dropCandidate(outcome.candidateId);
    await radio.startHotspot(hotspot, forever);
    await radio.stopHotspot();
  }
  ending.abort();
  assert.deepEqual({ listeners: radio.listenerCount(), rules: await bus.countMatchRules() }, before);
  assert.ok(before.rules > 0);
  assert.deepEqual(fake.profiles(), []);
});
