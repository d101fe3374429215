import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  decide,
  defaultSettings,
  isWanted,
  placeKeptMs,
  silenceLimits,
  waveLimits,
  type DeviceFacts,
  type ImageFacts,
} from './rollout-decide.ts';
import { applyReport, maxHandshakes, newTarget, type Rollout, type Target } from './target-decide.ts';

const now = Date.parse('2026-03-01T12:00:00.000Z');
const rollout: Rollout = {
  id: 'r',
  name: 'climate',
  version: '2.0.0',
  state: 'running',
  settings: defaultSettings,
  wave: 0,
  reason: null,
};
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `device-${index}`);
const waiting = (deviceId: string, more: Partial<Target> = {}): Target => ({ ...newTarget(deviceId, now), ...more });
const updating = (deviceId: string, more: Partial<Target> = {}): Target =>
  waiting(deviceId, { state: 'updating', phase: 'downloading', percent: 40, wave: 0, startedAt: now, ...more });
const old: DeviceFacts = { isOnline: true, firmwareVersion: '1.0.0', chip: 'esp32', lastSeenAt: now, isServed: true };

type Given = Partial<Parameters<typeof decide>[0]>;
function decided(targets: Target[], given: Given = {}, devices: Record<string, Partial<DeviceFacts>> = {}) {
  const facts = new Map(targets.map(({ deviceId }) => [deviceId, { ...old, ...devices[deviceId] }]));
  const usual = {
    rollout,
    targets,
    devices: facts,
    needsApproval: false,
    busy: new Set<string>(),
    listeningSince: 0,
    now,
  };
  return decide({ ...usual, ...given });
}
const statesOf = (targets: readonly Target[]): string[] => targets.map(({ state }) => state);

describe('a rollout that waits for approval', () => {
  const asking: Rollout = { ...rollout, state: 'waiting_approval' };

  it('starts no device while its image needs it', () => {
    const { rollout: after, offers, targets } = decided([waiting('a')], { rollout: asking, needsApproval: true });
    assert.deepEqual([after, offers, statesOf(targets)], [asking, [], ['waiting']]);
  });

  it('starts by itself when its image does not need it any more', () => {
    const { rollout: after, offers } = decided([waiting('a'), waiting('b')], { rollout: asking });
    assert.deepEqual([after.state, after.wave, offers.length], ['running', 0, 1]);
  });

  it('does not wait again when a person wants to be asked later on', () => {
    assert.equal(decided([waiting('a')], { needsApproval: true }).rollout.state, 'running');
  });
});

describe('waves', () => {
  it('are the canary, then growing shares of all devices', () => {
    assert.deepEqual(waveLimits(defaultSettings, 100), [1, 10, 50, 100]);
    assert.deepEqual(waveLimits(defaultSettings, 3), [1, 2, 3]);
    assert.deepEqual(waveLimits(defaultSettings, 1), [1]);
    assert.deepEqual(waveLimits({ ...defaultSettings, canary: 5, waves: [] }, 8), [5, 8]);
  });

  it('begin with one device', () => {
    const { offers, targets } = decided(names(20).map((name) => waiting(name)));
    assert.equal(offers.length, 1);
    assert.deepEqual(
      targets.filter(({ state }) => state === 'updating').map(({ deviceId, wave }) => [deviceId, wave]),
      [[offers[0], 0]],
    );
  });

  it('begin with a device that is online', () => {
    const targets = names(3).map((name) => waiting(name));
    const asleep = { isOnline: false };
    assert.deepEqual(decided(targets, {}, { 'device-0': asleep, 'device-1': asleep }).offers, ['device-2']);
  });

  it('wait until the previous one was stable for the soak time', () => {
    const done = waiting('device-0', { state: 'updated', wave: 0 });
    const targets = [
      done,
      ...names(20)
        .slice(1)
        .map((name) => waiting(name)),
    ];
    assert.deepEqual(decided(targets).offers, []);
    const later = now + defaultSettings.soakMs;
    const after = decided(targets, { now: later });
    assert.equal(after.rollout.wave, 1);
    assert.equal(after.offers.length, 1, 'a tenth of twenty, with the canary');
  });

  it('keep the limits of concurrency and starts per minute', () => {
    const last = { ...rollout, wave: 3 };
    const targets = names(100).map((name) => waiting(name));
    assert.equal(decided(targets, { rollout: last }).offers.length, defaultSettings.concurrency);
    const settings = { ...defaultSettings, concurrency: 1000 };
    assert.equal(decided(targets, { rollout: { ...last, settings } }).offers.length, settings.startsPerMinute);
    const startedLately = targets.map((target, index) =>
      index < 55 ? { ...target, state: 'updated' as const, wave: 0, startedAt: now - 1_000 } : target,
    );
    assert.equal(decided(startedLately, { rollout: { ...last, settings } }).offers.length, 5);
  });

  it('leave out devices that are busy with another rollout', () => {
    assert.deepEqual(decided([waiting('a')], { busy: new Set(['a']) }).offers, []);
  });
});

describe('a device', () => {
  const afterHandshake = (target: Target, firmwareVersion: string) =>
    applyReport(rollout, target, { kind: 'handshake', firmwareVersion, at: now });

  it('has succeeded only after a handshake with the new version', () => {
    const installing = applyReport(rollout, updating('a'), { kind: 'progress', percent: 100, at: now });
    assert.deepEqual([installing.state, installing.phase], ['updating', 'installing']);
    assert.equal(afterHandshake(installing, '2.0.0').state, 'updated');
    assert.equal(afterHandshake(installing, '2.0.0+build.7').state, 'updated');
  });

  it('that returns with the old version has fallen back; after two times it failed', () => {
    const once = afterHandshake(updating('a', { phase: 'installing' }), '1.0.0');
    assert.deepEqual([once.state, once.failures, once.phase], ['waiting', 1, null]);
    const twice = afterHandshake({ ...once, state: 'updating', phase: 'installing' }, '1.0.0');
    assert.deepEqual([twice.state, twice.failures], ['failed', 2]);
    assert.match(twice.reason ?? '', /1\.0\.0 again/);
  });

  it('whose download is interrupted has not failed, and continues soon', () => {
    const cut = afterHandshake(updating('a'), '1.0.0');
    assert.deepEqual([cut.state, cut.failures, cut.interruptions], ['waiting', 0, 1]);
    assert.deepEqual(decided([cut]).offers, []);
    assert.deepEqual(decided([cut], { now: now + 5_000 }).offers, ['a']);
  });

  it('whose download is interrupted too often has failed', () => {
    let target = updating('a');
    for (let time = 0; time < defaultSettings.maxInterruptions; time += 1) {
      target = afterHandshake({ ...target, state: 'updating', phase: 'downloading' }, '1.0.0');
    }
    assert.equal(target.state, 'failed');
  });

  it('that refuses the image waits with its reason', () => {
    const refused = applyReport(rollout, updating('a'), { kind: 'error', reason: 'checksum', at: now });
    assert.deepEqual([refused.state, refused.failures, refused.reason], ['waiting', 1, 'checksum']);
  });

  it('that is updated and falls back later is retried as often as any other', () => {
    const once = afterHandshake(waiting('a', { state: 'updated' }), '1.0.0');
    assert.deepEqual([once.state, once.failures], ['waiting', 1]);
    assert.equal(afterHandshake({ ...once, state: 'updated' }, '1.0.0').state, 'failed');
  });

  it('that is updated and repeats its handshake stays stable', () => {
    const target = waiting('a', { state: 'updated', changedAt: now - 1_000 });
    for (const version of ['2.0.0', '2.0.0+build.7'])
      assert.deepEqual(afterHandshake(target, version), { ...target, handshakes: 1 });
    const stable = { ...target, changedAt: now - defaultSettings.soakMs };
    assert.equal(afterHandshake(stable, '2.0.0'), stable);
  });

  it('that keeps restarting with the new version has failed', () => {
    let targets = [waiting('a', { state: 'updating', phase: 'installing', wave: 0 }), waiting('b')];
    let last = decided(targets);
    for (let at = now; last.rollout.state === 'running'; at += 7_000) {
      assert.deepEqual(last.offers, []);
      assert.ok(at - now < 2 * defaultSettings.soakMs);
      const report = { kind: 'handshake', firmwareVersion: '2.0.0', at } as const;
      targets = last.targets.map((target) => (target.deviceId === 'a' ? applyReport(rollout, target, report) : target));
      last = decided(targets, { now: at }, { a: { firmwareVersion: '2.0.0' } });
    }
    assert.match(last.rollout.reason ?? '', /again and again/);
    const [failed] = last.targets;
    assert.ok(failed?.state === 'failed');
    assert.equal(afterHandshake(failed, '2.0.0'), failed);
  });

  it('that lost its connection a few times still counts as updated', () => {
    let target = waiting('a', { state: 'updated', wave: 0 });
    for (let count = 0; count < maxHandshakes; count += 1) target = afterHandshake(target, '2.0.0');
    const after = decided([target, waiting('b')], { now: now + defaultSettings.soakMs });
    assert.deepEqual([after.rollout.wave, after.offers], [1, ['b']]);
  });

  it('that slept during the command gets it again as soon as it wakes', () => {
    const woken = afterHandshake(updating('a', { phase: 'offered' }), '1.0.0');
    assert.deepEqual([woken.state, woken.interruptions], ['waiting', 1]);
    assert.deepEqual(decided([woken]).offers, ['a']);
  });

  it('that reports progress again is updating, also after it was assumed lost', () => {
    const assumedLost = waiting('a', { startedAt: now - 1_000 });
    assert.equal(applyReport(rollout, assumedLost, { kind: 'progress', percent: 60, at: now }).state, 'updating');
    const neverStarted = waiting('a');
    assert.equal(applyReport(rollout, neverStarted, { kind: 'progress', percent: 60, at: now }), neverStarted);
  });

  it('that sends no report stops counting as updating within a minute, in any phase', () => {
    for (const phase of ['offered', 'downloading', 'installing'] as const) {
      assert.ok(silenceLimits[phase] < 60_000);
      const later = now + silenceLimits[phase];
      const { targets } = decided([updating('a', { phase })], { now: later }, { a: { isOnline: false } });
      assert.deepEqual(statesOf(targets), ['waiting'], phase);
    }
  });

  it('gets more time when the station was offline', () => {
    const later = now + 3_600_000;
    const { targets } = decided([updating('a')], { now: later, listeningSince: later - 1_000 });
    assert.deepEqual(statesOf(targets), ['updating']);
  });

  it('that should have restarted and still reports with the old version has failed once', () => {
    const installing = updating('a', { phase: 'installing', percent: 100 });
    const later = now + silenceLimits.installing;
    const { targets } = decided([installing], { now: later }, { a: { lastSeenAt: later - 1_000 } });
    assert.deepEqual([targets[0]?.failures, targets[0]?.phase], [1, null]);
  });

  it('that has not returned is not started again before it does', () => {
    const offline = waiting('a', { phase: 'installing', startedAt: now, wave: 0 });
    assert.deepEqual(decided([offline], { now: now + 10_000 }).offers, []);
    assert.equal(afterHandshake(offline, '2.0.0').state, 'updated');
    assert.equal(afterHandshake(offline, '1.0.0').failures, 1);
  });

  it('that was interrupted and stays offline gives its place in the wave to another, and gets a new place when it is back', () => {
    const cut = waiting('device-0', { wave: 0, startedAt: now, interruptions: 1 });
    const targets = [cut, waiting('device-1'), waiting('device-2')];
    const offline = { 'device-0': { isOnline: false } };
    const later = now + placeKeptMs;
    assert.deepEqual(decided(targets, { now: later - 1 }, offline).offers, []);
    assert.deepEqual(
      decided(targets, { now: later, listeningSince: now + 1 }, offline).offers,
      [],
      'the station was offline',
    );
    const after = decided(targets, { now: later }, offline);
    assert.deepEqual(after.offers, ['device-1']);
    assert.deepEqual(decided(after.targets, { now: later }).offers, [], 'there is one canary');
    const last = { ...rollout, wave: 2 };
    assert.deepEqual(decided(after.targets, { now: later, rollout: last }).offers, ['device-2', 'device-0']);
  });

  it('that went offline while it started the new firmware keeps its place: the others wait for it', () => {
    const lost = waiting('device-0', { wave: 0, startedAt: now, phase: 'installing', percent: 100 });
    const offline = { 'device-0': { isOnline: false } };
    const { offers, targets } = decided([lost, waiting('device-1')], { now: now + 3_600_000 }, offline);
    assert.deepEqual([offers, targets[0]?.wave], [[], 0]);
  });

  it('whose record shows the version is updated, also without a handshake since the start', () => {
    assert.deepEqual(statesOf(decided([updating('a')], {}, { a: { firmwareVersion: '2.0.0' } }).targets), ['updated']);
  });
});

describe('a rollout', () => {
  const failed = (deviceId: string, wave: number): Target =>
    waiting(deviceId, { state: 'failed', wave, reason: 'bad' });

  it('stops at a canary that failed', () => {
    const { rollout: after, targets, offers } = decided([failed('a', 0), waiting('b'), waiting('c')]);
    assert.equal(after.state, 'stopped');
    assert.match(after.reason ?? '', /bad/);
    assert.deepEqual(statesOf(targets), ['failed', 'skipped', 'skipped']);
    assert.deepEqual(offers, []);
  });

  it('stops at three that failed', () => {
    const targets = [
      ...names(3).map((name) => failed(name, 2)),
      ...names(10)
        .slice(3)
        .map((name) => waiting(name)),
    ];
    assert.equal(decided(targets.slice(1)).rollout.state, 'running');
    assert.equal(decided(targets).rollout.state, 'stopped');
  });

  it('stops at a tenth that failed', () => {
    const updated = names(20)
      .slice(2)
      .map((name) => waiting(name, { state: 'updated', wave: 1 }));
    const targets = [failed('x', 1), failed('y', 1), ...updated, waiting('z')];
    assert.equal(decided(targets).rollout.state, 'stopped');
    assert.equal(decided(targets.slice(1)).rollout.state, 'running');
  });

  it('is done when every device is, and not while one is offline', () => {
    const updated = waiting('a', { state: 'updated', wave: 0 });
    assert.equal(decided([updated]).rollout.state, 'done');
    const { rollout: after } = decided([updated, waiting('b')], { now: now + 100_000 }, { b: { isOnline: false } });
    assert.equal(after.state, 'running');
  });

  it('that is paused starts no device, and lets started ones continue', () => {
    const paused = { ...rollout, state: 'paused' as const };
    const { targets, offers } = decided([updating('a'), waiting('b')], { rollout: paused });
    assert.deepEqual([statesOf(targets), offers], [['updating', 'waiting'], []]);
  });

  it('that was aborted skips interrupted devices', () => {
    const aborted = { ...rollout, state: 'aborted' as const };
    const later = now + silenceLimits.downloading;
    assert.deepEqual(statesOf(decided([updating('a')], { rollout: aborted, now: later }).targets), ['skipped']);
  });
});

describe('a device that reports over HTTP', () => {
  const result = (target: Target, status: 'success' | 'failed', at = now) =>
    applyReport(rollout, target, { kind: 'result', status, at });

  it('is left alone after two failures, also when it was silent in between', () => {
    const once = result(updating('a'), 'failed');
    assert.deepEqual([once.state, once.failures], ['waiting', 1]);
    const silent = decided([{ ...once, state: 'updating', phase: 'downloading' }], { now: now + 60_000 }).targets[0];
    assert.deepEqual([silent?.state, silent?.interruptions], ['waiting', 1]);
    const twice = result(silent as Target, 'failed');
    assert.deepEqual([twice.state, twice.failures], ['failed', 2]);
    assert.match(twice.reason ?? '', /reported that the update failed/);
    assert.equal(result(twice, 'failed'), twice);
  });

  it('has not succeeded by saying so: its handshake decides', () => {
    const done = result(updating('a', { phase: 'accepted', percent: null }), 'success');
    assert.deepEqual([done.state, done.phase], ['updating', 'installing']);
    const asked = applyReport(rollout, done, { kind: 'asked', firmwareVersion: '2.0.0', at: now });
    assert.equal(asked.state, 'updating');
    assert.equal(
      applyReport(rollout, asked, { kind: 'handshake', firmwareVersion: '2.0.0', at: now }).state,
      'updated',
    );
    const old = applyReport(rollout, done, { kind: 'handshake', firmwareVersion: '1.0.0', at: now });
    assert.deepEqual([old.state, old.failures], ['waiting', 1]);
  });

  it('changes nothing when it already has the version, or when the rollout passed over it', () => {
    for (const state of ['updated', 'skipped', 'failed'] as const) {
      const target = waiting('a', { state });
      for (const status of ['success', 'failed'] as const) assert.equal(result(target, status), target);
    }
  });

  it('starts again without the pause after a failure, as it has restarted, but after that of many interruptions', () => {
    const [failed, interrupted] = [5_000, 10_000].map((pause) => waiting('a', { wave: 0, notBefore: now + pause }));
    const offline = { a: { isOnline: false } };
    const startsOf = (target: Target | undefined, asking: string | null) =>
      decided([target as Target], { asking }, offline).offers;
    assert.deepEqual(startsOf(failed, 'a'), ['a']);
    assert.deepEqual(startsOf(interrupted, 'a'), []);
    assert.deepEqual(startsOf(waiting('a'), 'b'), []);
  });
});

describe('a device that accepts the command without a report', () => {
  const offered = (more: Partial<Target> = {}) => updating('a', { phase: 'offered', percent: null, ...more });
  const heard = { a: { lastSeenAt: now + 20_000 } };
  const later = now + silenceLimits.offered;

  it('is not told again while it is heard, unless the command may not have been sent', () => {
    assert.deepEqual(statesOf(decided([offered()], { now: later }, heard).targets), ['updating']);
    assert.deepEqual(statesOf(decided([offered()], { now: later }).targets), ['waiting']);
    const afterRestart = { now: later, listeningSince: now + 1 };
    const devices = { a: { lastSeenAt: later } };
    const again = { ...afterRestart, now: later + 1 };
    assert.deepEqual(statesOf(decided([offered()], again, devices).targets), ['waiting']);
    const tooLong = { now: now + silenceLimits.accepted };
    assert.deepEqual(statesOf(decided([offered()], tooLong, heard).targets), ['waiting']);
  });

  it('is told at once when it is back, then ever more rarely, and in the end left alone', () => {
    let target = offered();
    const pauses: number[] = [];
    for (let count = 0; count < 40 && target.state !== 'failed'; count += 1) {
      target = applyReport(rollout, target, { kind: 'handshake', firmwareVersion: '1.0.0', at: now });
      pauses.push(target.notBefore - now);
      if (target.state === 'waiting') target = { ...target, state: 'updating', phase: 'offered' };
    }
    assert.deepEqual(pauses.slice(0, 7), [0, 0, 0, 5_000, 5_000, 10_000, 20_000]);
    assert.deepEqual([target.state, pauses.length], ['failed', 15]);
  });
});

describe('a device that was given the image over HTTP', () => {
  const given = applyReport(rollout, updating('a', { phase: 'offered', percent: null }), { kind: 'given', at: now });
  const handshake = (at: number) => applyReport(rollout, given, { kind: 'handshake', firmwareVersion: '1.0.0', at });

  it('is not interrupted by the handshake of its start, but by a later one', () => {
    assert.deepEqual([given.state, given.phase], ['updating', 'accepted']);
    assert.equal(handshake(now + 2_000), given);
    assert.equal(handshake(now + 60_000).interruptions, 1);
  });

  it('is interrupted when it asks again', () => {
    const again = applyReport(rollout, given, { kind: 'asked', firmwareVersion: '1.0.0', at: now + 2_000 });
    assert.deepEqual([again.state, again.interruptions], ['waiting', 1]);
  });
});

describe('a device that the firmware is not for any more', () => {
  it('is skipped while it waits, and may finish what it has begun', () => {
    const devices = { a: { isServed: false }, b: { isServed: false } };
    assert.deepEqual(statesOf(decided([waiting('a'), updating('b')], {}, devices).targets), ['skipped', 'updating']);
  });
});

describe('a version is wanted', () => {
  const image = (more: Partial<ImageFacts> = {}): ImageFacts => ({
    version: '2.0.0',
    chip: null,
    min_version: null,
    ...more,
  });
  const cases: [string, string | null, boolean, boolean][] = [
    ['2.0.0', '1.0.0', false, true],
    ['2.0.0', null, false, true],
    ['2.0.0', 'not a version', false, true],
    ['2.0.0', '2.0.0', false, false],
    ['2.0.0', '2.0.0+x', true, false],
    ['1.0.0', '2.0.0', false, false],
    ['1.0.0', '2.0.0', true, true],
  ];
  for (const [version, current, isOnRequest, expected] of cases) {
    it(`${version} over ${current}${isOnRequest ? ', on request' : ''}: ${expected}`, () =>
      assert.equal(
        isWanted(image({ version }), { firmwareVersion: current, chip: null, isServed: true }, isOnRequest),
        expected,
      ));
  }

  it('for the chip it is built for', () => {
    const s3 = image({ chip: 'esp32s3' });
    const unknown = image();
    assert.ok(isWanted(s3, { ...old, chip: 'ESP32-S3' }, false));
    assert.ok(!isWanted(s3, { ...old, chip: 'esp32' }, true));
    assert.ok(isWanted(s3, { ...old, chip: null }, false));
    assert.ok(isWanted(unknown, { ...old, chip: 'esp32' }, false));
  });

  it('unless another firmware is for the device', () => {
    assert.ok(!isWanted(image(), { ...old, isServed: false }, true));
  });

  it('from its minimum version on', () => {
    const demanding = image({ min_version: '1.5.0' });
    assert.ok(!isWanted(demanding, old, true));
    assert.ok(isWanted(demanding, { ...old, firmwareVersion: '1.5.0' }, false));
  });
});
