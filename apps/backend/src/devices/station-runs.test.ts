import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedLog } from '../../testing/recorded-log.ts';
import { steppedClock } from '../../testing/stepped-clock.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { startStationRuns } from './station-runs.ts';

const minute = 60_000;

async function withStore() {
  const store = await openTestStore();
  const { db } = store;
  const stepped = steppedClock();
  let aheadMs = 0;
  const clock = { ...stepped, now: () => stepped.now() + aheadMs };
  const startMs = clock.now();
  const runs = async () => {
    const rows = await db.selectFrom('station_runs').selectAll().orderBy('started_at').execute();
    return rows.map(({ started_at, alive_at }) => [started_at - startMs, alive_at - startMs]);
  };
  const start = () => startStationRuns({ db, clock, logger: recordedLog() });
  const setAhead = (ms: number) => (aheadMs = ms);
  return {
    db,
    clock,
    stepped,
    startMs,
    runs,
    start,
    setAhead,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

test('a run is recorded every ten minutes and at its end; a quick restart continues it', async () => {
  await using all = await withStore();
  {
    await using _run = await all.start();
    await all.stepped.advance(9 * minute);
    await all.stepped.advance(minute);
    await until('the run to be recorded', async () => (await all.runs())[0]?.[1] === 10 * minute);
    await all.stepped.advance(30_000);
  }
  assert.deepEqual(await all.runs(), [[0, 630_000]]);
  await all.stepped.advance(4_000);
  await (await all.start())[Symbol.asyncDispose]();
  assert.deepEqual(await all.runs(), [[0, 634_000]]);
  await all.stepped.advance(10 * minute);
  await (await all.start())[Symbol.asyncDispose]();
  assert.deepEqual(await all.runs(), [
    [0, 634_000],
    [1_234_000, 1_234_000],
  ]);
});

test('after a power cut the run ends with the last message of a device', async () => {
  await using all = await withStore();
  const { db } = all;
  await db
    .insertInto('station_runs')
    .values({ id: 'cut', started_at: all.startMs - 10 * minute, alive_at: all.startMs - 9 * minute })
    .execute();
  await createDeviceStore({ db, clock: all.clock }).provision({ externalId: 'x', type: 'y', name: 'z', zoneId: null });
  await db
    .updateTable('devices')
    .set({ last_seen_at: all.startMs - 8.5 * minute })
    .execute();
  await using _run = await all.start();
  assert.deepEqual(await all.runs(), [
    [-10 * minute, -8.5 * minute],
    [0, 0],
  ]);
});

test('without a clock nothing is recorded; when it is set, the start moves with it', async () => {
  await using all = await withStore();
  all.setAhead(-all.startMs);
  await using _run = await all.start();
  assert.deepEqual(await all.runs(), []);
  all.setAhead(-minute * 60);
  await all.stepped.advance(10 * minute);
  await until('the run to be recorded', async () => (await all.runs())[0]?.[1] === -50 * minute);
  assert.deepEqual(await all.runs(), [[-60 * minute, -50 * minute]]);
  all.setAhead(0);
  await all.stepped.advance(10 * minute);
  await until('the run to be recorded', async () => (await all.runs())[0]?.[1] === 20 * minute);
  assert.deepEqual(await all.runs(), [[0, 20 * minute]]);
});
