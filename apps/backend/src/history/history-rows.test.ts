import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { createEventIds } from '../core/event-ids.ts';
import type { DeviceReport } from '../core/device-events.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { testOnSqlite } from '../../testing/test-postgres.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { createDeviceStore } from '../store/device-store.ts';
import {
  countedBytes,
  deleteRows,
  droppedTotals,
  isHistoryMeasured,
  largestUsage,
  measureHistory,
} from './history-rows.ts';
import { writeReports } from './report-store.ts';
import { shedOldest } from './shed-history.ts';

const day = 24 * 60 * 60 * 1000;

async function withDevices(...names: string[]) {
  const store = await openTestStore();
  const clock = manualClock();
  const devices = createDeviceStore({ db: store.db, clock });
  const ids: string[] = [];
  for (const externalId of names) {
    ids.push((await devices.provision({ externalId, type: 'climate', name: externalId, zoneId: null })).id);
  }
  const newId = createEventIds(clock.now);
  const write = (...reports: DeviceReport[]) => writeReports(store, reports, newId);
  const event = (deviceId: string, text: string, more = {}): DeviceReport => ({
    kind: 'event',
    deviceId,
    at: clock.now(),
    eventKind: 'device_event',
    data: { action: 'said', text },
    ...more,
  });
  const state = (deviceId: string, at: number, more = {}): DeviceReport => ({
    kind: 'state',
    deviceId,
    at,
    state: { temperature: at % 97, humidity: 40, name: 'no number' },
    ...more,
  });
  /** In the order of the names: ids that are made in the same millisecond have none. */
  const stored = async () => {
    const rows = await store.db.selectFrom('device_storage').selectAll().execute();
    return rows.toSorted((one, other) => ids.indexOf(one.device_id) - ids.indexOf(other.device_id));
  };
  return {
    store,
    clock,
    devices,
    ids,
    write,
    event,
    state,
    stored,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Pages of PostgreSQL are larger than this test. */
testOnSqlite('what is counted is near to what the database file grows by', async () => {
  await using all = await withDevices('a');
  const { store, ids, clock } = all;
  const size = async () => {
    const { fileBytes, freeBytes } = await store.space!.measure();
    return fileBytes - freeBytes;
  };
  for (const [name, make] of [
    ['small events', () => all.event(ids[0]!, 'x'.repeat(60))],
    ['large events', () => all.event(ids[0]!, 'x'.repeat(3_000))],
    ['samples', (n: number) => all.state(ids[0]!, clock.now() + n * 2_000)],
    ['transitions', (n: number) => all.state(ids[0]!, clock.now() + n * 2_000, { state: { on: n % 2 === 0 } })],
  ] as const) {
    const before = { size: await size(), counted: await countedBytes(store) };
    for (let n = 0; n < 4_000; n += 10) {
      clock.advance(20_000);
      await all.write(...Array.from({ length: 10 }, (_, index) => make(index)));
    }
    const ratio = ((await countedBytes(store)) - before.counted) / ((await size()) - before.size);
    assert.ok(ratio > 0.75 && ratio < 1.35, `${name}: ${ratio}`);
  }
});

test('events and values over the rate are counted, not stored; the latest state is stored', async () => {
  await using all = await withDevices('a', 'b');
  const [a = '', b = ''] = all.ids;
  const at = all.clock.now();
  const over = { isOverRate: true } as const;
  await all.write(all.event(a, 'kept'), all.event(a, 'lost', over), all.state(a, at, over), all.state(b, at));
  await all.write(all.state(a, at + 5_000, over));
  const device = await all.devices.findById(a);
  assert.equal(JSON.parse(device?.state ?? '')['temperature'], (at + 5_000) % 97);
  const rows = await all.store.db.selectFrom('device_samples').select('device_id').execute();
  assert.deepEqual([...new Set(rows.map(({ device_id }) => device_id))], [b]);
  assert.equal((await all.store.db.selectFrom('device_events').selectAll().execute()).length, 1);
  const [ofA, ofB] = await all.stored();
  assert.deepEqual([ofA?.rate_events, ofA?.rate_values, ofA?.dropped_since, ofA?.dropped_at], [1, 4, at, at + 5_000]);
  assert.deepEqual([ofB?.rate_events, ofB?.rate_values, ofB?.dropped_since, ofB?.dropped_at], [0, 0, null, null]);
});

test('after a quiet week the counts start again', async () => {
  await using all = await withDevices('a');
  const lose = async () => all.write(all.event(all.ids[0]!, 'lost', { isOverRate: true }));
  await lose();
  all.clock.advance(6 * day);
  await lose();
  assert.equal((await all.stored())[0]?.rate_events, 2);
  all.clock.advance(8 * day);
  await lose();
  const [row] = await all.stored();
  assert.deepEqual([row?.rate_events, row?.dropped_since], [1, all.clock.now()]);
});

test('the device that takes most loses its oldest rows, until it takes no more than the others', async () => {
  await using all = await withDevices('flood', 'small');
  const [flood = '', small = ''] = all.ids;
  for (let n = 0; n < 50; n++) {
    all.clock.advance(1_000);
    await all.write(...Array.from({ length: 20 }, (_, index) => all.event(flood, `${n} ${index} ${'x'.repeat(900)}`)));
    if (n % 10 === 0) await all.write(all.event(small, 'hello'), all.state(small, all.clock.now()));
  }
  const smallBefore = (await all.stored()).find(({ device_id }) => device_id === small);
  const at = all.clock.now();
  let steps = 0;
  for (; steps < 1_000; steps++) {
    if ((await largestUsage(all.store))?.deviceId !== flood) break;
    await shedOldest(all.store, { deviceId: flood, of: 'events', bytes: 20_000, at });
  }
  assert.ok(steps > 40 && steps < 200, String(steps));
  const left = await all.store.db
    .selectFrom('device_events')
    .select('data')
    .where('device_id', '=', flood)
    .orderBy('id')
    .execute();
  const texts = left.map(({ data }) => (JSON.parse(data) as { text: string }).text);
  assert.ok(
    texts.every((text) => text.startsWith('49 ')),
    texts.join(),
  );
  const rows = await all.stored();
  assert.equal(rows.find(({ device_id }) => device_id === flood)?.size_events, 1_000 - left.length);
  assert.equal(rows.find(({ device_id }) => device_id === flood)?.dropped_since, at);
  assert.deepEqual(
    rows.find(({ device_id }) => device_id === small),
    smallBefore,
  );
});

test('of several capabilities the oldest values go first, each value is counted, and a counter without rows ends at 0', async () => {
  await using all = await withDevices('a');
  const [deviceId = ''] = all.ids;
  const at = all.clock.now();
  const start = at;
  for (let n = 0; n < 40; n++) {
    const begin = start + n * 1_000;
    const capability = n < 20 ? 'z' : 'a';
    const report = (after: number): DeviceReport => ({
      kind: 'state',
      deviceId,
      at: begin + after,
      state: { [capability]: n },
    });
    await all.write(report(0), report(10));
  }
  await shedOldest(all.store, { deviceId, of: 'samples', bytes: 1, at });
  const oldest = await all.store.db
    .selectFrom('device_samples')
    .select(['capability', 'at'])
    .orderBy('at')
    .limit(1)
    .execute();
  assert.deepEqual(
    oldest.map((row) => [row.capability, row.at]),
    [['z', start + 1_000]],
  );
  assert.equal((await all.stored())[0]?.size_values, 2);
  for (let bytes = 1; bytes > 0;) bytes = await shedOldest(all.store, { deviceId, of: 'samples', bytes: 2_000, at });
  assert.deepEqual([(await all.stored())[0]?.samples_bytes, (await all.stored())[0]?.size_values], [0, 80]);
  await all.store.db.updateTable('device_storage').set({ hours_bytes: 99 }).execute();
  assert.equal(await shedOldest(all.store, { deviceId, of: 'hours', bytes: 2_000, at }), 0);
  assert.equal(await largestUsage(all.store), null);
});

test('the oldest transitions go, and what holds now stays', async () => {
  await using all = await withDevices('a');
  const [deviceId = ''] = all.ids;
  const start = all.clock.now();
  const switched = (n: number): DeviceReport => ({
    kind: 'state',
    deviceId,
    at: start + n * 2_000,
    state: { on: n % 2 === 0, mode: n === 0 ? 'eco' : 'auto' },
  });
  for (let n = 0; n < 300; n++) await all.write(switched(n));
  await all.write({ kind: 'status', deviceId, at: start, status: 'online' });
  const shed = (bytes: number) => shedOldest(all.store, { deviceId, of: 'transitions', bytes, at: all.clock.now() });
  const rows = async () => {
    const query = all.store.db.selectFrom('device_transitions').select(['capability', 'at', 'value']);
    return (await query.orderBy('capability').orderBy('at').execute()).map((row) => ({ ...row }));
  };
  const before = await rows();
  assert.equal(before.length, 303);
  // The mode of the first report is the oldest that does not hold any more; of two as old ones any may go.
  await shed(1);
  await shed(1);
  assert.deepEqual(
    (await rows()).filter(({ at }) => at === start),
    [{ capability: '', at: start, value: '"online"' }],
  );
  assert.equal((await all.stored())[0]?.size_values, 2);
  for (let bytes = 1; bytes > 0;) bytes = await shed(2_000);
  const last = (capability: string) => before.findLast((row) => row.capability === capability);
  assert.deepEqual(await rows(), [last(''), last('mode'), last('on')]);
  // What may not go is not counted: the next device loses its history instead.
  assert.equal(await largestUsage(all.store).then((usage) => usage?.transitions ?? 0), 0);
});

test('measuring again finds what counting found, also after old rows were deleted', async () => {
  await using all = await withDevices('a', 'b');
  for (let n = 0; n < 30; n++) {
    all.clock.advance(1_000);
    const reports = all.ids.flatMap((id) => [
      ...Array.from({ length: 100 }, (_, index) => all.event(id, 'x'.repeat(index))),
      ...Array.from({ length: 100 }, (_, index) => all.state(id, all.clock.now() + 10 * index)),
      all.state(id, all.clock.now(), { state: { on: n % 3 > 0, mode: `number ${n}` } }),
      // Within a step of the one before, so that it takes its place.
      all.state(id, all.clock.now() + 10, { state: { mode: `no. ${n}` } }),
    ]);
    await all.write(...reports);
  }
  await deleteRows(all.store, 'device_events', sql`at < ${all.clock.now() - 20_000}`);
  await deleteRows(all.store, 'device_samples', sql`at < ${all.clock.now() - 20_000}`);
  await deleteRows(all.store, 'device_transitions', sql`at < ${all.clock.now() - 20_000}`);
  const counted = await all.stored();
  assert.ok(
    counted.every(
      ({ events_bytes: events, samples_bytes: samples, transitions_bytes: transitions }) =>
        events > 100_000 && samples > 1_000 && transitions > 5_000,
    ),
  );
  await all.store.db
    .updateTable('device_storage')
    .set({ events_bytes: 5, samples_bytes: 5, transitions_bytes: 5 })
    .execute();
  assert.equal(await isHistoryMeasured(all.store), false);
  await measureHistory(all.store, all.clock.now() + day, new AbortController().signal);
  assert.equal(await isHistoryMeasured(all.store), true);
  assert.deepEqual(await all.stored(), counted);
  assert.deepEqual(await droppedTotals(all.store), { rateEvents: 0, rateValues: 0, sizeEvents: 0, sizeValues: 0 });
});
