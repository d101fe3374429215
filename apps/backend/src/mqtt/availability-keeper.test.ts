import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDeviceEvents, type DeviceReport } from '../core/device-events.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { doubtfulWillGraceMs, silenceMs, willGraceMs } from './availability-decide.ts';
import { createAvailabilityKeeper } from './availability-keeper.ts';

function keeperFor(status: 'online' | 'offline' | 'unknown', isShared = false) {
  const clock = manualClock();
  const events = createDeviceEvents(recordedLog());
  const emitted: string[] = [];
  events.subscribe((event) => {
    if (event.kind === 'status') emitted.push(event.status);
  });
  const written: DeviceReport[] = [];
  let isFailing = false;
  const keeper = createAvailabilityKeeper({
    devices: [{ id: 'd', status }],
    write: async (report) => {
      if (isFailing) throw new Error('disk full');
      written.push(report);
      keeper.written([report]);
    },
    events,
    clock,
    isShared,
  });
  /** Lets time pass, with a check every second. */
  const pass = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.advance(1_000);
      keeper.check();
    }
  };
  const fail = (now: boolean): void => void (isFailing = now);
  return { clock, keeper, emitted, written, pass, fail, [Symbol.dispose]: () => keeper[Symbol.dispose]() };
}

test('three minutes of silence show a device as offline, once, and not before', () => {
  using all = keeperFor('online');
  all.keeper.listening(true);
  all.pass(silenceMs - 1_000);
  assert.deepEqual(all.emitted, []);
  all.pass(60_000);
  assert.deepEqual([all.emitted, all.written.length], [['offline'], 1]);
});

test('time while the process was stopped or the broker was offline does not count as silence', () => {
  using stalled = keeperFor('online');
  stalled.keeper.listening(true);
  stalled.clock.advance(silenceMs * 2);
  stalled.pass(1_000);
  assert.deepEqual(stalled.emitted, []);
  using away = keeperFor('online');
  away.keeper.listening(true);
  away.pass(60_000);
  away.keeper.listening(false);
  away.pass(silenceMs * 2);
  away.keeper.listening(true);
  away.pass(silenceMs - 1_000);
  assert.deepEqual(away.emitted, []);
  away.pass(1_000);
  assert.deepEqual(away.emitted, ['offline']);
});

test('a last will counts after its grace period, unless a message follows or the broker closes', () => {
  using all = keeperFor('online');
  all.keeper.listening(true);
  all.keeper.will('d');
  all.clock.advance(1);
  all.keeper.received('d');
  all.pass(10_000);
  assert.deepEqual(all.emitted, []);
  all.keeper.will('d');
  all.keeper.listening(false);
  all.clock.advance(1);
  all.keeper.listening(true);
  all.pass(10_000);
  assert.deepEqual(all.emitted, []);
  all.keeper.will('d');
  all.pass(willGraceMs);
  assert.deepEqual(all.emitted, ['offline']);
});

test('a status that could not be written is decided again', async () => {
  using all = keeperFor('online');
  all.keeper.listening(true);
  all.fail(true);
  all.pass(silenceMs);
  assert.equal(all.keeper.status('d'), 'offline', 'being written');
  await new Promise(setImmediate);
  assert.deepEqual([all.emitted, all.keeper.status('d')], [[], 'online']);
  all.fail(false);
  all.pass(1_000);
  assert.deepEqual(all.emitted, ['offline']);
});

test('with other replicas, a decision contains the time since when the device was quiet', () => {
  using all = keeperFor('online', true);
  all.keeper.listening(true);
  all.pass(10_000);
  all.keeper.received('d');
  const receivedAt = all.clock.now();
  all.pass(silenceMs);
  const [report] = all.written;
  assert.ok(report?.kind === 'status' && report.quietSince !== undefined);
  assert.ok(report.quietSince >= receivedAt && report.quietSince < receivedAt + 1_000);
});

test('a last will that may be older than the last message waits for a longer silence', () => {
  using all = keeperFor('online', true);
  all.keeper.listening(true);
  all.pass(10_000);
  all.keeper.received('d');
  all.keeper.will('d', 0, 500);
  all.pass(doubtfulWillGraceMs - 1_000);
  assert.deepEqual(all.emitted, []);
  all.pass(1_000);
  assert.deepEqual(all.emitted, ['offline']);
  using sure = keeperFor('online', true);
  sure.keeper.listening(true);
  sure.pass(10_000);
  sure.keeper.received('d');
  sure.pass(1_000);
  sure.keeper.will('d', 0, 500);
  sure.pass(willGraceMs);
  assert.deepEqual(sure.emitted, ['offline']);
});

test('a device is heard once it has sent something since the start, until it is offline', () => {
  using all = keeperFor('online');
  all.keeper.listening(true);
  assert.deepEqual(all.keeper.heard(), [], 'it was online when the backend before ended');
  all.keeper.received('d');
  assert.deepEqual(all.keeper.heard(), ['d']);
  all.pass(silenceMs + 1_000);
  assert.deepEqual(all.keeper.heard(), []);
});
