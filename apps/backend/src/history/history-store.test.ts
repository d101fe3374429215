import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { manualClock } from '../../testing/manual-clock.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { createEventIds } from '../core/event-ids.ts';
import type { DeviceReport } from '../core/device-events.ts';
import { createHistoryStore, type NumberPoint } from './history-store.ts';
import { writeReports } from './report-store.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

async function withHistory() {
  const store = await openTestStore();
  const clock = manualClock();
  const devices = createDeviceStore({ db: store.db, clock });
  const { id: deviceId } = await devices.provision({ externalId: 'x', type: 'climate', name: 'Hall', zoneId: null });
  const history = createHistoryStore({ store, clock });
  const record = (samples: readonly { at: number; value: number }[]) =>
    writeReports(
      store,
      samples.map(({ at, value }): DeviceReport => ({ kind: 'state', deviceId, at, state: { temperature: value } })),
      createEventIds(clock.now),
    );
  const value = { deviceId, capability: 'temperature' };
  const read = async (fromMs: number, toMs: number): Promise<NumberPoint[]> => {
    const read = await history.read({ ...value, fromMs, toMs });
    assert.equal(read.kind, 'number');
    return read.kind === 'number' ? read.points : [];
  };
  return {
    store,
    clock,
    deviceId,
    value,
    history,
    record,
    read,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

test('a range is read as averages with lowest and highest, in intervals that do not depend on its start', async () => {
  await using all = await withHistory();
  const start = all.clock.now() - day;
  await all.record(Array.from({ length: 1_440 }, (_, n) => ({ at: start + n * minute, value: n % 2 === 0 ? 20 : 22 })));
  const hourly = await all.history.read({ ...all.value, fromMs: start + 7 * minute + 3, toMs: start + 67 * minute });
  assert.deepEqual([hourly.frame.resolutionMs, hourly.frame.fromMs], [10_000, start + 7 * minute]);
  const whole = await all.read(start, start + day);
  assert.equal(whole.length, 288);
  assert.deepEqual({ ...whole[1] }, { at: start + 5 * minute, value: 21.2, lowest: 20, highest: 22, count: 5 });
});

test('old samples are deleted, their hours stay, and a second run changes nothing', async () => {
  await using all = await withHistory();
  const start = all.clock.now() - (all.clock.now() % hour);
  await all.record([0, 10, 20].map((minutes, index) => ({ at: start + minutes * minute, value: 10 * (index + 1) })));
  all.clock.advance(2 * hour);
  await all.history.downsample();
  await all.history.downsample();
  const hours = () => all.store.db.selectFrom('device_hours').selectAll().execute();
  const kept = (await hours())[0]!;
  assert.deepEqual([kept.hour, kept.samples, kept.total, kept.lowest, kept.highest], [start, 3, 60, 10, 30]);

  all.clock.advance(8 * day);
  await all.record([{ at: all.clock.now() - hour, value: 50 }]);
  await all.history.downsample();
  assert.equal((await all.store.db.selectFrom('device_samples').selectAll().execute()).length, 1);
  assert.deepEqual(
    (await hours()).find((row) => row.hour === start),
    kept,
  );
  const points = await all.read(all.clock.now() - 30 * day, all.clock.now());
  assert.deepEqual(
    points.map(({ value, lowest, highest }) => [value, lowest, highest]),
    [
      [20, 10, 30],
      [50, 50, 50],
    ],
  );

  all.clock.advance(3 * 365 * day);
  await all.history.downsample();
  assert.deepEqual(await hours(), []);
});

test('a range that begins before the oldest sample has hours first, then samples up to the newest value', async () => {
  await using all = await withHistory();
  const start = all.clock.now() - (all.clock.now() % hour);
  await all.record([{ at: start, value: 10 }]);
  all.clock.advance(10 * day);
  await all.history.downsample();
  const now = all.clock.now() - (all.clock.now() % hour);
  await all.record([{ at: now - hour, value: 20 }]);
  await all.history.downsample();
  await all.record([{ at: now + 1, value: 30 }]);
  all.clock.advance(2 * hour);
  await all.record([{ at: now + 2 * hour, value: 40 }]);
  const values = async (from: number, to: number) => (await all.read(from, to)).map(({ value }) => value);
  assert.deepEqual(await values(start - day, all.clock.now() + 1), [10, 20, 30, 40]);
  assert.deepEqual(await values(start - day, now + hour), [10, 20, 30]);
  assert.deepEqual(await values(start + hour, all.clock.now() + 1), [20, 30, 40]);
});

test('an unfinished hour is not aggregated', async () => {
  await using all = await withHistory();
  await all.record([{ at: all.clock.now(), value: 1 }]);
  await all.history.downsample();
  assert.deepEqual(await all.store.db.selectFrom('device_hours').selectAll().execute(), []);
});

test('values that share a row are separated by the limits of intervals and of hours', async () => {
  await using all = await withHistory();
  const start = all.clock.now() - (all.clock.now() % hour);
  const at = (ms: number): number => start + hour + ms;
  await all.record([-10, -5, 0, 3, 7, 900].map((ms) => ({ at: at(ms), value: ms })));
  // A batch that begins in the same millisecond as another, and one that adds to a row of one.
  await all.record([0, 4].map((ms) => ({ at: at(ms), value: ms })));
  await all.record([-10, -9].map((ms) => ({ at: at(ms), value: ms })));
  all.clock.advance(3 * hour);
  const read = await all.read(at(-10_000), at(10_000));
  assert.deepEqual(
    read.map((point) => [point.at - at(0), point.count, point.lowest, point.highest]),
    [
      [-10_000, 3, -10, -5],
      [0, 5, 0, 900],
    ],
  );
  await all.history.downsample();
  const hours = await all.store.db.selectFrom('device_hours').selectAll().orderBy('hour').execute();
  assert.deepEqual(
    hours.map(({ samples, total, lowest, highest }) => [samples, total, lowest, highest]),
    [
      [3, -24, -10, -5],
      [5, 914, 0, 900],
    ],
  );
});

test('numbers too large to be added up are no part of the history, the others beside them are', async () => {
  await using all = await withHistory();
  const start = all.clock.now() - (all.clock.now() % hour);
  const values = [20, 1.7e308, 1.7e308, -1.7e308, 1e200, 22, 1.7e308];
  await all.record(values.map((value, n) => ({ at: start + n * 400, value })));
  all.clock.advance(2 * hour);
  const read = async (from: number, to = all.clock.now()): Promise<number[]> =>
    (await all.read(from, to)).map(({ value }) => value);
  assert.deepEqual(await read(start, start + minute), [21]);
  assert.deepEqual(await read(start), [21]);
  await all.history.downsample();
  all.clock.advance(8 * day);
  await all.history.downsample();
  assert.deepEqual(await read(start - hour), [21]);
});

test('the history of a device goes with it', async () => {
  await using all = await withHistory();
  await all.record([{ at: all.clock.now() - 2 * hour, value: 1 }]);
  await all.history.downsample();
  await all.store.db.deleteFrom('devices').execute();
  for (const table of ['device_samples', 'device_hours', 'device_events'] as const) {
    assert.deepEqual(await all.store.db.selectFrom(table).selectAll().execute(), [], table);
  }
});

test('a device that changes a value without a pause fills no memory: such a range is refused, a shorter one is read', async () => {
  await using all = await withHistory();
  const start = all.clock.now() - day;
  await sql`
    insert into device_transitions (device_id, capability, at, value)
    select ${all.deviceId}, 'open', cast(${start} as bigint) + i, case when i % 2 = 0 then 'true' else 'false' end
    from (with recursive counted(i) as (select 0 union all select i + 1 from counted where i < 100000)
      select i from counted) as numbers`.execute(all.store.db);
  const query = { deviceId: all.deviceId, capability: 'open', fromMs: start - 1 };
  await assert.rejects(all.history.read({ ...query, toMs: start + hour }), { code: 'too_many_changes' });
  const read = await all.history.read({ ...query, toMs: start + 50_000 });
  assert.equal(read.kind, 'transitions');
});
