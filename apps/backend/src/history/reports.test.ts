import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { openTestStore } from '../../testing/test-store.ts';
import type { Store } from '../store/database.ts';
import { createActivityStore } from '../devices/activity-store.ts';
import type { DeviceReport } from '../core/device-events.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { createEventIds } from '../core/event-ids.ts';
import { createHistoryStore } from './history-store.ts';
import { writeReports } from './report-store.ts';
import { createReportWriter } from '../mqtt/report-writer.ts';

async function withDevices(...names: string[]) {
  const store = await openTestStore();
  const devices = createDeviceStore({ db: store.db, clock: systemClock });
  const ids = [];
  for (const name of names) {
    ids.push((await devices.provision({ externalId: `x-${name}`, type: 'climate', name, zoneId: null })).id);
  }
  return { store, devices, ids, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

const newId = createEventIds(Date.now);

const write = (store: Store, ...reports: DeviceReport[]) => writeReports(store, reports, newId);

const everything = {
  about: null,
  deviceId: null,
  userId: null,
  reader: { userId: '01890000-0000-7000-8000-000000000009', role: 'owner' },
  zones: null,
} as const;

test('the capabilities of a state are merged, over several reports and batches', async () => {
  await using all = await withDevices('hall', 'porch');
  const [hall = '', porch = ''] = all.ids;
  await write(
    all.store,
    { kind: 'state', deviceId: hall, at: 1_000, state: { temperature: 20.5, humidity: 40 } },
    { kind: 'state', deviceId: hall, at: 2_000, state: { temperature: 21 } },
    { kind: 'state', deviceId: porch, at: 1_500, state: { on: true, colour: 'red', quote: `'";--` } },
  );
  await write(all.store, { kind: 'state', deviceId: hall, at: 3_000, state: { humidity: null } });
  const row = await all.devices.findById(hall);
  assert.deepEqual(JSON.parse(row?.state ?? ''), { temperature: 21, humidity: null });
  assert.equal(row?.state_at, 3_000);
  assert.equal(row?.last_seen_at, 3_000);
  assert.deepEqual(JSON.parse((await all.devices.findById(porch))?.state ?? ''), {
    on: true,
    colour: 'red',
    quote: `'";--`,
  });
  const samples = await all.store.db
    .selectFrom('device_samples')
    .selectAll()
    .orderBy('at')
    .orderBy('capability')
    .execute();
  assert.deepEqual(
    samples.map(({ capability, at, value }) => `${at} ${capability} ${value}`),
    ['1000 humidity 40', '1000 temperature 20.5', '2000 temperature 21'],
  );
});

test('a status says since when; a last will does not count as a message', async () => {
  await using all = await withDevices('hall');
  const [deviceId = ''] = all.ids;
  const read = async () => {
    const { status, status_at, last_seen_at } = (await all.devices.findById(deviceId))!;
    return { status, status_at, last_seen_at };
  };
  assert.deepEqual(await read(), { status: 'unknown', status_at: null, last_seen_at: null });
  await write(all.store, { kind: 'status', deviceId, at: 10, status: 'online' });
  await write(all.store, { kind: 'status', deviceId, at: 20, status: 'online' });
  assert.deepEqual(await read(), { status: 'online', status_at: 10, last_seen_at: 20 });
  await write(all.store, { kind: 'status', deviceId, at: 30, status: 'offline' });
  assert.deepEqual(await read(), { status: 'offline', status_at: 30, last_seen_at: 20 });
});

test('a handshake sets firmware and chip and leaves the state unchanged', async () => {
  await using all = await withDevices('hall');
  const [deviceId = ''] = all.ids;
  await write(all.store, { kind: 'state', deviceId, at: 1, state: { on: false } });
  await write(all.store, {
    kind: 'handshake',
    deviceId,
    at: 2,
    firmwareVersion: '1.4.0',
    chip: 'esp32',
    kitTag: 'kit-7',
  });
  await write(all.store, { kind: 'handshake', deviceId, at: 3, firmwareVersion: '1.5.0', chip: 'esp32', kitTag: null });
  const row = (await all.devices.findById(deviceId))!;
  assert.deepEqual(
    [row.firmware_version, row.chip, row.kit_tag, row.state],
    ['1.5.0', 'esp32', 'kit-7', '{"on":false}'],
  );
});

test('events are kept in the order they came and read back newest first, page by page', async () => {
  await using all = await withDevices('hall', 'porch');
  const [hall = '', porch = ''] = all.ids;
  const event = (deviceId: string, n: number): DeviceReport => ({
    kind: 'event',
    deviceId,
    at: n,
    eventKind: 'device_event',
    data: { n },
  });
  await write(all.store, ...Array.from({ length: 25 }, (_, n) => event(n % 5 === 0 ? porch : hall, n)));
  const activity = createActivityStore(all.store.db);
  const read: number[] = [];
  for (let before: string | null = null; ;) {
    const page = await activity.page({ ...everything, before, limit: 10 });
    read.push(...page.map(({ at }) => at));
    before = page.at(-1)?.id ?? null;
    if (page.length < 10) break;
  }
  assert.deepEqual(
    read,
    Array.from({ length: 25 }, (_, n) => 24 - n),
  );
  assert.deepEqual(
    (await activity.ofDevice({ deviceId: porch, before: null, limit: 10 })).map(({ at }) => at),
    [20, 15, 10, 5, 0],
  );
});

test('a report of a device that was removed meanwhile is left out, the rest is kept', async () => {
  await using all = await withDevices('hall', 'gone');
  const [hall = '', gone = ''] = all.ids;
  await all.devices.remove(gone);
  const reports = [gone, hall].flatMap((deviceId): DeviceReport[] => [
    { kind: 'state', deviceId, at: 1, state: { temperature: 20 } },
    { kind: 'event', deviceId, at: 1, eventKind: 'device_event', data: {} },
  ]);
  await write(all.store, ...reports);
  assert.equal((await createActivityStore(all.store.db).page({ ...everything, before: null, limit: 10 })).length, 1);
  assert.equal((await all.store.db.selectFrom('device_samples').selectAll().execute()).length, 1);
});

test('batches for the same devices at the same moment lose nothing', async () => {
  await using all = await withDevices('hall', 'porch');
  const batches = Array.from({ length: 20 }, (_, n) => {
    const ids = n % 2 === 0 ? all.ids : all.ids.toReversed();
    return write(
      all.store,
      ...ids.map((deviceId): DeviceReport => ({ kind: 'state', deviceId, at: n, state: { [`c${n}`]: n } })),
    );
  });
  await Promise.all(batches);
  for (const id of all.ids) {
    assert.equal(Object.keys(JSON.parse((await all.devices.findById(id))?.state ?? '') as object).length, 20);
  }
});

test('the writer writes reports that arrive together in one transaction, and resolves each one when it is on disk', async () => {
  await using all = await withDevices('hall');
  const [deviceId = ''] = all.ids;
  const batches: number[] = [];
  const written: number[] = [];
  await using writer = createReportWriter({
    writeBatch: async (reports) => {
      batches.push(reports.length);
      await write(all.store, ...reports);
    },
    onWritten: (reports) => written.push(reports.length),
    onFailure: () => assert.fail('nothing fails'),
    clock: systemClock,
  });
  const reports = Array.from({ length: 300 }, (_, n): DeviceReport => ({
    kind: 'state',
    deviceId,
    at: n,
    state: { n },
  }));
  await Promise.all(reports.map((report) => writer.write(report)));
  assert.deepEqual(batches, [300]);
  await writer.write({ kind: 'state', deviceId, at: 301, state: { n: 301 } });
  assert.deepEqual(written, [300, 1]);
  const history = createHistoryStore({ store: all.store, clock: { ...systemClock, now: () => 1_000 } });
  const read = await history.read({ deviceId, capability: 'n', fromMs: 0, toMs: 600 });
  assert.deepEqual(
    read.points.map((point) => ({ ...point })),
    [{ at: 0, value: 45_151 / 301, lowest: 0, highest: 301, count: 301 }],
  );
});
