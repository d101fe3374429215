import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEventIds } from '../core/event-ids.ts';
import type { DeviceReport } from '../core/device-events.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { shiftHistory } from './correct-times.ts';
import { writeReports } from './report-store.ts';
import { shedOldest } from './shed-history.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { startOfHour, sumUpHours } from './downsampling.ts';
import { createHistoryStore } from './history-store.ts';
import { hourMs } from './history-decide.ts';

const minuteMs = 60_000;

/** A device with two samples a minute in rows of their own or shared, from the start of an hour on. */
async function withDevice() {
  const store = await openTestStore();
  const clock = manualClock();
  const start = startOfHour(clock.now());
  const devices = createDeviceStore({ db: store.db, clock });
  const add = async (externalId: string) =>
    (await devices.provision({ externalId, type: 'climate', name: 'Hall', zoneId: null })).id;
  const deviceId = await add('flood');
  const other = await add('small');
  const written: { deviceId: string; at: number; value: number }[] = [];
  const newId = createEventIds(clock.now);
  /** @param from, to minutes after the start. */
  const write = async (from: number, to: number, ids = [deviceId, other]): Promise<void> => {
    const reports: DeviceReport[] = [];
    for (const id of ids) {
      for (let n = from; n < to; n++) {
        for (const after of [0, 400]) {
          const at = start + n * minuteMs + after;
          const value = (n * 7 + after) % 101;
          written.push({ deviceId: id, at, value });
          reports.push({ kind: 'state', deviceId: id, at, state: { power: value } });
        }
      }
    }
    await writeReports(store, reports, newId);
  };
  const shedAll = async (): Promise<number> => {
    let steps = 0;
    const step = { deviceId, of: 'samples', bytes: 3_000, at: clock.now() } as const;
    for (let bytes = 1; bytes > 0; steps++) bytes = await shedOldest(store, step);
    return steps;
  };
  const hoursOf = (id: string, shift = 0) => {
    const hours = new Map<number, number[]>();
    for (const { deviceId: of, at, value } of written) {
      const hour = startOfHour(at + shift);
      if (of === id) hours.set(hour, [...(hours.get(hour) ?? []), value]);
    }
    return Array.from(hours, ([hour, values]) => ({
      hour,
      samples: values.length,
      total: values.reduce((sum, value) => sum + value, 0),
      lowest: Math.min(...values),
      highest: Math.max(...values),
    }));
  };
  const stored = async (id: string) => {
    const query = store.db.selectFrom('device_hours').select(['hour', 'samples', 'total', 'lowest', 'highest']);
    const rows = await query.where('device_id', '=', id).orderBy('hour').execute();
    return rows.map((row) => ({ ...row }));
  };
  const parts = () => store.db.selectFrom('device_hour_parts').selectAll().execute();
  const samples = () =>
    store.db.selectFrom('device_samples').select('at').where('device_id', '=', deviceId).orderBy('at').execute();
  return {
    store,
    clock,
    start,
    deviceId,
    other,
    write,
    shedAll,
    hoursOf,
    stored,
    parts,
    samples,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

test('samples that are deleted because the storage is full stay in the sum of their hour', async () => {
  await using all = await withDevice();
  const { store, start, deviceId, other } = all;
  // Two finished hours, and the one that is not over.
  await all.write(0, 130);
  assert.ok((await all.shedAll()) > 3);
  assert.deepEqual(await all.samples(), []);
  await all.write(130, 180, [deviceId]);
  await sumUpHours(store, start + 2 * hourMs);
  assert.deepEqual(await all.stored(deviceId), all.hoursOf(deviceId).slice(0, 2));
  await all.shedAll();
  await sumUpHours(store, start + 3 * hourMs);
  assert.deepEqual(await all.stored(deviceId), all.hoursOf(deviceId));
  assert.deepEqual(await all.stored(other), all.hoursOf(other));
  const usage = await store.db.selectFrom('device_storage').selectAll().where('device_id', '=', deviceId).execute();
  assert.deepEqual([usage[0]?.size_values, usage[0]?.samples_bytes], [360, 0]);
  assert.ok(Number(usage[0]?.hours_bytes) > 0);
});

test('a value that comes late still counts in its hour, and what was kept goes when its hour is final', async () => {
  await using all = await withDevice();
  const { store, start, deviceId } = all;
  await all.write(0, 58);
  await all.shedAll();
  await sumUpHours(store, start + hourMs);
  assert.equal((await all.parts()).length, 1);
  // Written while its hour was summed up.
  await all.write(59, 60, [deviceId]);
  await all.shedAll();
  await all.write(60, 61);
  await sumUpHours(store, start + 2 * hourMs);
  assert.deepEqual(await all.stored(deviceId), all.hoursOf(deviceId));
  assert.deepEqual(await all.parts(), []);
});

test('an hour that was missed is summed up with what was deleted of it', async () => {
  await using all = await withDevice();
  const { store, start, deviceId, other } = all;
  await all.write(0, 60);
  await all.write(60, 120, [other]);
  await sumUpHours(store, start + 2 * hourMs);
  await store.db.deleteFrom('device_hours').where('device_id', '=', deviceId).execute();
  await all.shedAll();
  await sumUpHours(store, start + 2 * hourMs);
  assert.deepEqual(await all.stored(deviceId), all.hoursOf(deviceId));
  assert.deepEqual(await all.parts(), []);
});

test('samples of a summed-up hour go without another sum', async () => {
  await using all = await withDevice();
  await all.write(0, 120);
  await sumUpHours(all.store, all.start + 2 * hourMs);
  const before = await all.stored(all.deviceId);
  await all.shedAll();
  assert.equal((await all.parts()).length, 1);
  await sumUpHours(all.store, all.start + 2 * hourMs);
  assert.deepEqual(await all.stored(all.deviceId), before);
});

test('what was kept of provisional times moves with the samples when the clock becomes right', async () => {
  await using all = await withDevice();
  const { store, start, deviceId } = all;
  await all.write(0, 90, [deviceId]);
  await all.shedAll();
  await all.write(90, 100, [deviceId]);
  const stepMs = 1_000 * hourMs;
  const period = { fromMs: start, toMs: start + 100 * minuteMs, stepMs };
  for (let restMs: number | null = period.toMs; restMs !== null;) {
    restMs = await shiftHistory(store, { ...period, restMs }, () => Promise.resolve());
  }
  await sumUpHours(store, start + stepMs + 2 * hourMs);
  assert.deepEqual(await all.stored(deviceId), all.hoursOf(deviceId, stepMs));
});

test('a chart of the unfinished hour has what was deleted of it', async () => {
  await using all = await withDevice();
  const { store, clock, start, deviceId } = all;
  await all.write(0, 90, [deviceId]);
  await sumUpHours(store, start + hourMs);
  clock.advance(start + 90 * minuteMs - clock.now());
  const history = createHistoryStore({ store, clock });
  const query = { deviceId, capability: 'power', fromMs: start, toMs: start + 2 * hourMs, resolutionMs: hourMs };
  const before = await history.read(query);
  await all.shedAll();
  assert.deepEqual(await history.read(query), before);
});
