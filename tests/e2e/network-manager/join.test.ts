import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { afterEach, beforeEach, test } from 'node:test';
import { Variant } from '@jellybrick/dbus-next';
import { deviceState, interfaces, managerPath } from '@station/agent/wifi/adapters/network-manager/objects';
import { ssidFromText } from '@station/agent/core/wifi-network';
import { wifiPath } from './bare-machine.ts';
import { joins, type Step } from './fake-objects.ts';
import { createStage, forever, home, hotspot, password, profile, request, utf8, type Stage } from './stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await createStage();
});
afterEach(() => stage[Symbol.asyncDispose]());
const added = () => stage.fake.added.at(-1);
/** For a search that must find nothing. */
const missingMs = 300;
/** For a handshake that must not end; one that does has as long, which is enough on a busy machine. */
const unsettledMs = 1_000;

test('joins with a profile in memory, then saves it and removes only older profiles of the agent', async () => {
  stage.fake.addAccessPoint({ ssid: utf8('Home') });
  const ofPeople = stage.fake.addProfile(profile('Home'));
  const older = stage.fake.addProfile(profile('Home', {}, 'network'));
  const other = stage.fake.addProfile(profile('Other', {}, 'network'));
  const outcome = await stage.radio.join(request, forever);
  assert.equal(outcome.kind, 'joined');
  assert.equal(outcome.ip, '10.0.0.7');
  assert.deepEqual(added()?.options, { persist: 'memory' });
  assert.deepEqual(added()?.settings['802-11-wireless-security'], { 'key-mgmt': 'wpa-psk', psk: password });
  const { radio: now } = await stage.radio.observe();
  assert.deepEqual(now?.client, {
    ssid: home,
    ip: '10.0.0.7',
    gateway: '10.0.0.1',
    signal: 50,
    candidateId: outcome.candidateId,
  });
  assert.ok(stage.fake.profiles().includes(older), 'no older profile is removed before the new one is saved');
  assert.equal(await stage.radio.keepCandidate(outcome.candidateId), true);
  assert.equal(stage.fake.profiles().includes(older), false);
  assert.ok(stage.fake.profiles().includes(ofPeople) && stage.fake.profiles().includes(other));
  await stage.radio.dropCandidate(outcome.candidateId);
  const after = await stage.radio.observe();
  assert.equal(after.radio?.client?.candidateId, null, 'a saved profile is not a candidate and stays');
});

for (const [name, script, failure] of [
  ['a wrong WPA2 password', [{ state: 40 }, { state: 50 }, { state: 60, reason: 8 }], 'wrong_password'],
  ['no lease', [{ state: 40 }, { state: 50 }, { state: 70 }, { state: 120, reason: 5 }], 'no_address'],
] as const)
  test(`${name} fails as ${failure}, and the candidate is removed`, async () => {
    stage.fake.addAccessPoint({ ssid: utf8('Home') });
    stage.fake.scripts = [[...script]];
    const outcome = await stage.radio.join(request, forever);
    assert.equal(outcome.kind === 'failed' && outcome.failure, failure);
    assert.deepEqual(stage.fake.profiles(), []);
    assert.equal(JSON.stringify([outcome, stage.lines]).includes(password), false);
  });

/** Accepted; then the access point restarts the handshake and does not receive the answers. */
const unsettled: Step[] = [
  ...[40, 50].map((state) => ({ state })),
  ...['4way_handshake', 'completed'].map((state) => ({ supplicant: { state } })),
  { state: 70 },
  { supplicant: { state: '4way_handshake' } },
];

test('retries the join when a restarted handshake does not end', async () => {
  await stage.renew({ handshakeMs: unsettledMs });
  stage.fake.addAccessPoint({ ssid: utf8('Home'), rsn: 0x488 });
  stage.fake.scripts = [unsettled, unsettled];
  const outcome = await stage.radio.join(request, forever);
  assert.equal(outcome.kind, 'joined');
  assert.equal(stage.fake.added.length, 3);
  assert.equal(stage.fake.profiles().length, 1, 'earlier attempts leave nothing behind');
  // A handshake that ends is awaited.
  stage.fake.scripts = [[...unsettled, { supplicant: { state: 'completed' } }, ...joins.slice(-4)]];
  await stage.radio.dropCandidate(outcome.candidateId);
  assert.equal((await stage.radio.join(request, forever)).kind, 'joined');
  assert.equal(stage.fake.added.length, 4);
});

test('reports a handshake that never ends as a time-out, not as a missing address', async () => {
  await stage.renew({ handshakeMs: unsettledMs, joinMs: 10_000 });
  stage.fake.addAccessPoint({ ssid: utf8('Home') });
  stage.fake.scripts = Array.from({ length: 100 }, () => unsettled);
  const outcome = await stage.radio.join(request, forever);
  assert.equal(outcome.kind === 'failed' && outcome.failure, 'timed_out');
  assert.deepEqual(stage.fake.profiles(), []);
});

test('a known network that disconnects twice after the join does not count as without an address', async () => {
  stage.fake.addAccessPoint({ ssid: utf8('Home') });
  stage.fake.addProfile(profile('Home'));
  const brokenOff: Step[] = [...unsettled, { supplicant: { disconnect: 15, state: 'disconnected' } }];
  stage.fake.scripts = [brokenOff, brokenOff];
  const outcome = await stage.radio.joinKnown({ timeoutMs: 30_000, silent: [] }, forever);
  assert.equal(outcome.kind === 'failed' && outcome.failure, 'timed_out');
});

for (const [what, count, joined] of [
  ['once: it is activated again', 1, 'Home'],
  ['twice: another network is tried', 2, 'Office'],
] as const)
  test(`a known network whose handshake fails ${what}`, async () => {
    await stage.renew({ handshakeMs: unsettledMs });
    for (const ssid of ['Office', 'Home']) {
      stage.fake.addAccessPoint({ ssid: utf8(ssid), strength: ssid === 'Home' ? 70 : 30 });
      stage.fake.addProfile(profile(ssid));
    }
    stage.fake.scripts = Array.from({ length: count }, () => unsettled);
    const outcome = await stage.radio.joinKnown({ timeoutMs: 30_000, silent: [] }, forever);
    assert.deepEqual(outcome, { kind: 'joined', ssid: ssidFromText(joined) });
    assert.equal(stage.fake.calls.filter((call) => call === 'ActivateConnection').length, count + 1);
  });

test('reports a wrong WPA3 password as soon as the access point rejects it', async () => {
  stage.fake.addAccessPoint({ ssid: utf8('Home'), rsn: 0x488 });
  stage.fake.scripts = [[{ state: 40 }, { state: 50 }, { supplicant: { authentication: 1 } }]];
  const outcome = await stage.radio.join(request, forever);
  assert.equal(outcome.kind === 'failed' && outcome.failure, 'wrong_password');
  assert.equal(added()?.settings['802-11-wireless-security']?.['key-mgmt'], 'sae');
});

test('a mixed network is retried without SAE when SAE fails', async () => {
  stage.fake.addAccessPoint({ ssid: utf8('Home'), rsn: 0x588 });
  stage.fake.scripts = [[{ state: 40 }, { state: 50 }, { state: 120, reason: 53 }]];
  const outcome = await stage.radio.join(request, forever);
  assert.equal(outcome.kind, 'joined');
  assert.deepEqual(
    stage.fake.added.map(({ settings }) => settings['802-11-wireless-security']?.['pmf']),
    [undefined, 1],
  );
});

test('a network that no scan finds is reported as not found; a hidden one is scanned by name', async () => {
  await stage.renew({ findMs: missingMs });
  const missing = await stage.radio.join(request, forever);
  assert.equal(missing.kind === 'failed' && missing.failure, 'not_found');
  await stage.renew({});
  stage.fake.appearing = [{ ssid: utf8('Home') }];
  const hidden = await stage.radio.join({ ...request, isHidden: true }, forever);
  assert.equal(hidden.kind, 'joined');
  assert.equal(added()?.settings['802-11-wireless']?.['hidden'], true);
  assert.deepEqual(new Set(stage.fake.scanned.flat().map(String)), new Set(['Home']));
  assert.equal(stage.fake.searched[0]?.frequencies.at(-1), 2472);
});

test('scans only the channels of a known network before the join, and stops a full scan for it', async () => {
  stage.fake.addAccessPoint({ ssid: utf8('Home'), frequency: 2412 });
  stage.fake.addAccessPoint({ ssid: utf8('Home'), frequency: 5180 });
  await stage.radio.scan({}, forever);
  stage.fake.isScanning = true;
  assert.equal((await stage.radio.join(request, forever)).kind, 'joined');
  assert.deepEqual(stage.fake.searched, [{ ssid: 'Home', frequencies: [2412, 5180] }]);
  assert.equal(stage.fake.isScanning, false);
});

test('tries a hidden network that no scan finds, with every possible security', async () => {
  await stage.renew({ findMs: missingMs });
  const outcome = await stage.radio.join({ ...request, isHidden: true }, forever);
  assert.equal(outcome.kind, 'joined');
  assert.deepEqual(added()?.settings['802-11-wireless-security'], { 'key-mgmt': 'wpa-psk', psk: password });
  stage.fake.scripts = [[{ state: 40 }, { state: 50 }, { state: 120, reason: 53 }]];
  const missing = await stage.radio.join({ ...request, isHidden: true }, forever);
  assert.equal(missing.kind === 'failed' && missing.failure, 'not_found');
});

test('does not join an open network of the same name instead of one with a password', async () => {
  await stage.renew({ findMs: missingMs });
  stage.fake.addAccessPoint({ ssid: utf8('Home'), strength: 90, rsn: 0, flags: 0 });
  for (const security of ['wpa2', null] as const) {
    const outcome = await stage.radio.join({ ...request, security }, forever);
    assert.equal(outcome.kind === 'failed' && outcome.failure, 'not_found');
  }
  assert.deepEqual(stage.fake.added, []);
  // Typed as a hidden network, because the other one may hide it.
  await stage.radio.join({ ...request, security: null, isHidden: true }, forever);
  assert.equal(added()?.settings['802-11-wireless-security']?.['key-mgmt'], 'wpa-psk');
  // A router that changed from WPA2 to WPA3 is still the same network.
  await stage.renew({});
  stage.fake.addAccessPoint({ ssid: utf8('Home'), strength: 20, rsn: 0x488 });
  assert.equal((await stage.radio.join({ ...request, security: 'wpa2' }, forever)).kind, 'joined');
  assert.equal(added()?.settings['802-11-wireless-security']?.['key-mgmt'], 'sae');
});

test('a profile that NetworkManager refuses is a result, not an exception', async () => {
  stage.fake.addAccessPoint({ ssid: utf8('Home') });
  stage.fake.refusals = ['org.freedesktop.NetworkManager.Settings.Connection.InvalidProperty'];
  const outcome = await stage.radio.join(request, forever);
  assert.equal(outcome.kind === 'failed' && outcome.failure, 'wrong_password');
});

test('passes names of any bytes and keys of any characters to NetworkManager unchanged', async () => {
  for (let round = 0; round < 40; round += 1) {
    // Not all zeros, because a hidden network's beacon looks like that.
    const ssid = Buffer.concat([randomBytes(randomInt(0, 32)), Buffer.from([randomInt(1, 256)])]);
    const key = Array.from({ length: randomInt(8, 64) }, () => String.fromCharCode(randomInt(0x20, 0x7f))).join('');
    stage.fake.addAccessPoint({ ssid });
    const outcome = await stage.radio.join({ ...request, ssid: ssid.toString('hex'), password: key }, forever);
    assert.equal(outcome.kind, 'joined', ssid.toString('hex'));
    assert.deepEqual(added()?.settings['802-11-wireless']?.['ssid'], ssid);
    assert.equal(added()?.settings['802-11-wireless-security']?.['psk'], key);
    assert.equal((await stage.radio.observe()).radio?.client?.ssid, ssid.toString('hex'));
    await stage.radio.dropCandidate(outcome.candidateId);
  }
});

test('known networks in reach are tried strongest first until one works', async () => {
  stage.fake.addAccessPoint({ ssid: utf8('Home'), strength: 30 });
  stage.fake.addAccessPoint({ ssid: utf8('Office'), strength: 70 });
  stage.fake.addProfile(profile('Home'));
  stage.fake.addProfile(profile('Office'));
  stage.fake.addProfile(profile('Away'));
  stage.fake.scripts = [[{ state: 40 }, { state: 120, reason: 7 }]];
  const patience = { timeoutMs: 30_000, silent: [] };
  assert.deepEqual(await stage.radio.joinKnown(patience, forever), { kind: 'joined', ssid: home });
  assert.equal((await stage.radio.observe()).radio?.client?.ssid, home);
  assert.deepEqual(await stage.radio.joinKnown(patience, forever), { kind: 'joined', ssid: home }, 'it is there');
  // The next decision uses the results of earlier attempts.
  assert.deepEqual(
    stage.radio.networks().map(({ ssid, isKnown }) => [ssid, isKnown]),
    [
      [ssidFromText('Office'), true],
      [home, true],
    ],
  );
});

test('leaves a network without an answering gateway only for another network', async () => {
  const office = ssidFromText('Office');
  stage.fake.addAccessPoint({ ssid: utf8('Home'), strength: 70 });
  stage.fake.addProfile(profile('Home'));
  assert.equal((await stage.radio.joinKnown({ timeoutMs: 30_000, silent: [] }, forever)).kind, 'joined');
  const alone = await stage.radio.joinKnown({ timeoutMs: 30_000, silent: [home] }, forever);
  assert.deepEqual(alone, { kind: 'joined', ssid: home });
  assert.equal(stage.fake.calls.filter((call) => call === 'ActivateConnection').length, 1);
  stage.fake.addAccessPoint({ ssid: utf8('Office'), strength: 30 });
  stage.fake.addProfile(profile('Office'));
  const other = await stage.radio.joinKnown({ timeoutMs: 30_000, silent: [home] }, forever);
  assert.deepEqual(other, { kind: 'joined', ssid: office });
  // If the other network refuses the station, the first one is used again.
  stage.fake.scripts = [[{ state: 40 }, { state: 120, reason: 7 }]];
  const back = await stage.radio.joinKnown({ timeoutMs: 30_000, silent: [office] }, forever);
  assert.deepEqual(back, { kind: 'joined', ssid: office });
});

test('rejoins only the last network that a person joined manually', async () => {
  const office = ssidFromText('Office');
  const path = ['Home', 'Office'].map((name) => {
    stage.fake.addAccessPoint({ ssid: utf8(name) });
    return stage.fake.addProfile(profile(name, { autoconnect: false }));
  });
  const patience = { timeoutMs: 30_000, silent: [] };
  assert.equal((await stage.radio.joinKnown(patience, forever)).kind, 'failed');
  for (const [index, ssid] of [home, office].entries()) {
    const active = `${managerPath}/ActiveConnection/${90 + index}`;
    stage.fake.set(active, interfaces.active, { Connection: new Variant('o', path[index]) });
    stage.fake.set(wifiPath, interfaces.device, {
      ActiveConnection: new Variant('o', active),
      State: new Variant('u', deviceState.activated),
    });
    assert.deepEqual((await stage.radio.observe()).known, [ssid]);
  }
  assert.deepEqual(await stage.radio.startHotspot(hotspot, forever), { kind: 'started' });
  assert.deepEqual((await stage.radio.observe()).known, [office]);
  await stage.radio.stopHotspot();
  assert.deepEqual(await stage.radio.joinKnown(patience, forever), { kind: 'joined', ssid: office });
});

test('keeps and reports a joined network that cannot be written, also through a hotspot', async () => {
  stage.fake.addAccessPoint({ ssid: utf8('Home') });
  stage.fake.isDiskFull = true;
  const outcome = await stage.radio.join(request, forever);
  assert.equal(outcome.kind, 'joined');
  assert.deepEqual((await stage.radio.observe()).known, [], 'its internet access is not checked');
  assert.equal(await stage.radio.keepCandidate(outcome.candidateId), false);
  const { known, unkept, radio } = await stage.radio.observe();
  assert.deepEqual([known, unkept, radio?.client?.candidateId], [[home], [home], outcome.candidateId]);
  const [joined] = stage.fake.profiles();
  assert.deepEqual(await stage.radio.startHotspot(hotspot, forever), { kind: 'started' });
  await stage.radio.stopHotspot();
  assert.deepEqual(stage.fake.profiles(), [joined]);
  assert.deepEqual(await stage.radio.joinKnown({ timeoutMs: 20_000, silent: [] }, forever), {
    kind: 'joined',
    ssid: home,
  });
  stage.fake.isDiskFull = false;
  assert.equal(await stage.radio.keepCandidate(outcome.candidateId), true);
  assert.deepEqual((await stage.radio.observe()).unkept, []);
});

test('a new process reads the credentials of a candidate from NetworkManager', async () => {
  stage.fake.addAccessPoint({ ssid: utf8('Home') });
  const outcome = await stage.radio.join(request, forever);
  assert.equal(outcome.kind, 'joined');
  await stage.renew({});
  const candidateId = (await stage.radio.observe()).radio?.client?.candidateId ?? '';
  assert.equal(candidateId, outcome.candidateId);
  const expected = { ssid: home, password, security: 'wpa2' };
  // Not those of an open network of the same name.
  stage.fake.addAccessPoint({ ssid: utf8('Home'), strength: 90, rsn: 0, flags: 0 });
  assert.deepEqual(await stage.radio.credentialsOf(candidateId), expected);
  assert.equal(await stage.radio.credentialsOf('another'), null);
  stage.fake.addAccessPoint({ ssid: utf8('Cafe'), rsn: 0, flags: 0 });
  const cafe = ssidFromText('Cafe');
  const open = await stage.radio.join({ ...request, ssid: cafe, password: null }, forever);
  assert.equal(open.kind, 'joined');
  assert.deepEqual(await stage.radio.credentialsOf(open.candidateId), { ssid: cafe, password: null, security: 'open' });
});

test('reports not found when no known network is in reach', async () => {
  stage.fake.addProfile(profile('Away'));
  const outcome = await stage.radio.joinKnown({ timeoutMs: 30_000, silent: [] }, forever);
  assert.equal(outcome.kind === 'failed' && outcome.failure, 'not_found');
});

test('a crash of NetworkManager ends a join', async () => {
  stage.fake.addAccessPoint({ ssid: utf8('Home') });
  stage.fake.scripts = [[{ state: 40 }, { state: 50 }]];
  const joining = stage.radio.join(request, forever);
  await stage.until(async () => (await stage.radio.observe()).radio?.state === 'connecting');
  await stage.fake[Symbol.asyncDispose]();
  assert.equal((await joining).kind, 'failed');
  await stage.replaceManager();
});
