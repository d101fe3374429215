import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { Variant } from '@jellybrick/dbus-next';
import { ssidFromText } from '@station/agent/core/wifi-network';
import { deviceState, interfaces, managerPath } from '@station/agent/wifi/adapters/network-manager/objects';
import { ethernetPath } from './bare-machine.ts';
import { createStage, forever, home, hotspot, profile, request, utf8, type Stage } from './stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await createStage();
});
afterEach(() => stage[Symbol.asyncDispose]());

test('reports radio, cable and known networks', async () => {
  stage.fake.addProfile(profile('Home'));
  stage.fake.addProfile(profile('Never', { autoconnect: false }));
  stage.fake.addProfile(profile('Tried', {}, 'network'), true);
  const facts = await stage.radio.observe();
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
    hidden: [],
    unkept: [],
    hasRoute: false,
    hasLeftovers: false,
  });
});

test('the first call waits for the connection', async () => {
  await stage.renew({});
  assert.equal((await stage.radio.observe()).manager, 'running');
});

test('reports a cable with an address and notifies listeners of the change', async () => {
  await stage.radio.observe();
  const changed = stage.radio.changed(forever);
  stage.fake.set(`${managerPath}/IP4Config/90`, interfaces.ip4, {
    AddressData: new Variant('aa{sv}', [{ address: new Variant('s', '10.1.0.4'), prefix: new Variant('u', 24) }]),
    Gateway: new Variant('s', '10.1.0.1'),
  });
  stage.fake.set(ethernetPath, interfaces.device, {
    State: new Variant('u', deviceState.activated),
    Ip4Config: new Variant('o', `${managerPath}/IP4Config/90`),
  });
  await changed;
  await stage.until(async () => (await stage.radio.observe()).ethernet !== null);
  assert.deepEqual((await stage.radio.observe()).ethernet, { interface: 'eth0', ip: '10.1.0.4', gateway: '10.1.0.1' });
});

test('reports a blocked radio; lifts a software block for the hotspot, but not a hardware switch', async () => {
  stage.fake.set(managerPath, interfaces.manager, { WirelessEnabled: new Variant('b', false) });
  assert.equal((await stage.radio.observe()).radio?.blocked, 'soft');
  assert.deepEqual(await stage.radio.startHotspot(hotspot, forever), { kind: 'started' });
  assert.equal((await stage.radio.observe()).radio?.blocked, 'no');
  await stage.radio.stopHotspot();
  const folders = join(stage.folder, 'sys/class/rfkill/rfkill0');
  await mkdir(folders, { recursive: true });
  for (const [name, value] of [
    ['type', 'wlan'],
    ['soft', '0'],
    ['hard', '1'],
  ] as const)
    await writeFile(join(folders, name), `${value}\n`);
  assert.equal((await stage.radio.observe()).radio?.blocked, 'hard');
  const refused = await stage.radio.startHotspot(hotspot, forever);
  assert.deepEqual(refused, { kind: 'failed', reason: 'blocked', detail: 'hard' });
});

test('starts a new scan, scans hidden networks by name, and merges access points of one network', async () => {
  stage.fake.addAccessPoint({ ssid: utf8('Home'), strength: 40 });
  stage.fake.addAccessPoint({ ssid: utf8('Home'), strength: 80 });
  stage.fake.addAccessPoint({ ssid: new Uint8Array(8), strength: 90 });
  stage.fake.addProfile(profile('Home'));
  stage.fake.appearing = [{ ssid: Buffer.from([0xff, 0x00, 0x27]), strength: 60, rsn: 0, flags: 0 }];
  const networks = await stage.radio.scan({ hidden: [ssidFromText('Cellar')] }, forever);
  assert.deepEqual(networks, [
    { ssid: home, security: 'wpa2', signal: 80, isKnown: true },
    { ssid: 'ff0027', security: 'open', signal: 60, isKnown: false },
  ]);
  assert.deepEqual(stage.radio.networks(), networks);
  assert.deepEqual(
    stage.fake.scanned.map((names) => names.map(String)),
    [['Cellar']],
  );
});

test('distinguishes known hidden networks', async () => {
  stage.fake.addProfile(profile('Home'));
  stage.fake.addProfile(profile('Cellar', { hidden: true }));
  const { known, hidden } = await stage.radio.observe();
  assert.deepEqual([known, hidden], [[home, ssidFromText('Cellar')], [ssidFromText('Cellar')]]);
});

test('retries the scan of a busy radio', async () => {
  stage.fake.refusedScans = 1;
  stage.fake.appearing = [{ ssid: utf8('Home') }];
  assert.equal((await stage.radio.scan({}, forever)).length, 1);
});

test('reconnects after a restart of NetworkManager and of the bus', async () => {
  await stage.fake[Symbol.asyncDispose]();
  await stage.until(async () => (await stage.radio.observe()).manager === 'absent');
  assert.equal((await stage.radio.join(request, forever)).kind, 'failed');
  assert.equal((await stage.radio.startHotspot(hotspot, forever)).kind, 'failed');
  await stage.radio.stopHotspot();
  await stage.replaceManager();
  await stage.until(async () => (await stage.radio.observe()).manager === 'running');
  await stage.fake[Symbol.asyncDispose]();
  await stage.bus.stop();
  await stage.until(async () => (await stage.radio.observe()).manager === 'absent');
  await stage.bus.start();
  await stage.replaceManager();
  await stage.until(async () => (await stage.radio.observe()).manager === 'running');
  stage.fake.addAccessPoint({ ssid: utf8('Home') });
  assert.equal((await stage.radio.join(request, forever)).kind, 'joined');
});

test('hundreds of operations leave no listener and no match rule behind', async () => {
  stage.fake.addAccessPoint({ ssid: utf8('Home') });
  const before = { listeners: stage.radio.listenerCount(), rules: await stage.bus.countMatchRules() };
  const ending = new AbortController();
  for (let round = 0; round < 150; round += 1) {
    void stage.radio.changed(ending.signal);
    await stage.radio.observe();
    await stage.radio.scan({}, forever);
    const outcome = await stage.radio.join(request, forever);
    assert.equal(outcome.kind, 'joined');
    await stage.radio.dropCandidate(outcome.candidateId);
    await stage.radio.startHotspot(hotspot, forever);
    await stage.radio.stopHotspot();
  }
  ending.abort();
  assert.deepEqual({ listeners: stage.radio.listenerCount(), rules: await stage.bus.countMatchRules() }, before);
  assert.ok(before.rules > 0);
  assert.deepEqual(stage.fake.profiles(), []);
});
