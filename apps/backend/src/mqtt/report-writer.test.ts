import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { systemClock, type Clock } from '@station/kit/clock';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import type { DeviceReport } from '../core/device-events.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { createEventIds } from '../core/event-ids.ts';
import { writeReports } from '../history/report-store.ts';
import { createReportWriter } from './report-writer.ts';

/** A clock whose sleepers wake at once. */
const hasty: Clock = {
  ...systemClock,
  sleep: async (_ms, signal) => {
    await new Promise(setImmediate);
    signal?.throwIfAborted();
  },
};

const stateOf = (n: number): DeviceReport => ({ kind: 'state', deviceId: 'x', at: n, state: { n } });
const numbersOf = (reports: readonly DeviceReport[]): unknown[] =>
  reports.flatMap((report) => (report.kind === 'state' && 'n' in report.state ? [report.state['n']] : []));

test('one report that cannot be written is rejected; the others of its batch are written, in order', async () => {
  const written: unknown[] = [];
  const failures: unknown[] = [];
  await using writer = createReportWriter({
    writeBatch: async (reports) => {
      if (numbersOf(reports).includes(13)) throw new Error('poison');
      return reports;
    },
    onWritten: (reports) => written.push(...numbersOf(reports)),
    onFailure: (error) => failures.push(error),
    clock: hasty,
  });
  const reports = Array.from({ length: 30 }, (_, n) => stateOf(n));
  const rejected = await Promise.all(reports.map((report) => writer.write(report)));
  assert.deepEqual(numbersOf(reports.filter((report, index) => rejected[index]?.has(report))), [13]);
  assert.deepEqual(
    written,
    [...reports.keys()].filter((n) => n !== 13),
  );
  assert.equal(failures.length, 1);
});

test('while nothing can be written, newer reports wait for older ones, and none is rejected', async () => {
  const written: unknown[] = [];
  let refusals = 0;
  await using writer = createReportWriter({
    writeBatch: async (reports) => {
      // It goes away in the middle of a batch.
      if (written.length >= 2 && refusals++ < 20) throw new Error('away');
      if (reports.length > 2) throw new Error('full');
    },
    onWritten: (reports) => written.push(...numbersOf(reports)),
    onFailure: () => undefined,
    clock: hasty,
  });
  const older = [1, 2, 3, 4].map((n) => writer.write(stateOf(n)));
  for (let turn = 0; refusals < 5; turn++) {
    assert.ok(turn < 1_000);
    await new Promise(setImmediate);
  }
  const newer = [5, 6].map((n) => writer.write(stateOf(n)));
  assert.equal(writer.waiting(), 6);
  const rejected = await Promise.all([...older, ...newer]);
  assert.deepEqual(
    rejected.map(({ size }) => size),
    [0, 0, 0, 0, 0, 0],
  );
  assert.deepEqual(written, [1, 2, 3, 4, 5, 6]);
});

test('after a real database could not be written for a while, the state is the last reported one', async () => {
  await using store = await openTestStore();
  const devices = createDeviceStore({ db: store.db, clock: systemClock });
  const { id } = await devices.provision({ externalId: 'x', type: 'climate', name: 'Hall', zoneId: null });
  const stateAt = (at: number, state: object): DeviceReport => ({
    kind: 'state',
    deviceId: id,
    at,
    state: { ...state },
  });
  const read = async () => {
    const row = await devices.findById(id);
    return [JSON.parse(row?.state ?? '') as unknown, row?.state_at];
  };
  const newId = createEventIds(Date.now);
  const failures: unknown[] = [];
  const wakers: (() => void)[] = [];
  await using writer = createReportWriter({
    writeBatch: (reports) => writeReports(store, reports, newId),
    onWritten: () => undefined,
    onFailure: (error) => failures.push(error),
    clock: { ...systemClock, sleep: () => new Promise<void>((resolve) => void wakers.push(resolve)) },
  });
  await sql`alter table devices rename to devices_elsewhere`.execute(store.db);
  const older = writer.write(stateAt(1_000, { mode: 'heat' }));
  await until('it is tried again later', () => wakers.length === 1);
  const newer = writer.write(stateAt(2_000, { mode: 'cool' }));
  await sql`alter table devices_elsewhere rename to devices`.execute(store.db);
  wakers.forEach((wake) => wake());
  assert.deepEqual([(await older).size, (await newer).size], [0, 0]);
  assert.deepEqual(await read(), [{ mode: 'cool' }, 2_000]);

  // It is well, but does not take what is a number.
  await sql`alter table device_samples rename to device_samples_elsewhere`.execute(store.db);
  const number = stateAt(3_000, { temperature: 21 });
  const rejected = await Promise.all([writer.write(number), writer.write(stateAt(4_000, { mode: 'heat' }))]);
  assert.deepEqual(rejected, [new Set([number]), new Set([number])]);
  assert.deepEqual(await read(), [{ mode: 'heat' }, 4_000]);
  assert.equal(failures.length, 2);
});

test('a state that a damaged disk made unreadable is replaced by the next report, and blocks no other device', async () => {
  await using store = await openTestStore();
  const devices = createDeviceStore({ db: store.db, clock: systemClock });
  const add = (externalId: string) => devices.provision({ externalId, type: 'climate', name: 'Hall', zoneId: null });
  const damaged = await add('damaged');
  const well = await add('well');
  await store.db.updateTable('devices').set({ state: '{"a":' }).where('id', '=', damaged.id).execute();
  const reports = [damaged, well].map(({ id }): DeviceReport => ({
    kind: 'state',
    deviceId: id,
    at: 1,
    state: { on: true },
  }));
  await writeReports(store, reports, createEventIds(Date.now));
  const rows = await store.db.selectFrom('devices').select('state').execute();
  assert.deepEqual(
    rows.map(({ state }) => JSON.parse(state) as unknown),
    [{ on: true }, { on: true }],
  );
});

test('a report is not rejected because the disk is full, even if a smaller one fits', async () => {
  let isFull = true;
  let refusals = 0;
  const written: unknown[] = [];
  await using writer = createReportWriter({
    writeBatch: async (reports) => {
      if (!isFull || numbersOf(reports).length === 0) return;
      if (++refusals === 10) isFull = false;
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
    },
    onWritten: (reports) => written.push(...numbersOf(reports)),
    onFailure: () => undefined,
    clock: hasty,
  });
  assert.equal((await writer.write(stateOf(1))).size, 0);
  assert.deepEqual(written, [1]);
});

test('disposing the writer while nothing can be written ends it; the reports stay unacknowledged', async () => {
  let isTold = false;
  let tries = 0;
  const writer = createReportWriter({
    writeBatch: async () => {
      tries += 1;
      throw new Error('away');
    },
    onWritten: () => undefined,
    onFailure: () => undefined,
    clock: systemClock,
  });
  void writer.write(stateOf(1)).then(() => (isTold = true));
  while (tries === 0) await new Promise(setImmediate);
  await writer[Symbol.asyncDispose]();
  await new Promise(setImmediate);
  assert.equal(isTold, false);
});

test('disposing the writer waits for the reports it was given', async () => {
  let written = 0;
  const writer = createReportWriter({
    writeBatch: async (reports) => {
      await new Promise(setImmediate);
      written += reports.length;
    },
    onWritten: () => undefined,
    onFailure: () => assert.fail('nothing fails'),
    clock: systemClock,
  });
  const all = Array.from({ length: 10 }, () =>
    writer.write({ kind: 'status', deviceId: 'x', at: 1, status: 'online' }),
  );
  await writer[Symbol.asyncDispose]();
  assert.equal(written, 10);
  await Promise.all(all);
});

test('a batch that is taken is published at once, and acknowledged with the next write', async () => {
  const published: unknown[] = [];
  const writes: unknown[][] = [];
  await using writer = createReportWriter({
    takeBatch: async (reports) => (numbersOf(reports).includes(3) ? null : reports),
    writeBatch: async (reports) => {
      writes.push(numbersOf(reports));
      return reports;
    },
    onWritten: (reports) => published.push(...numbersOf(reports)),
    onFailure: () => undefined,
    clock: hasty,
  });
  const first = writer.write(stateOf(1));
  await until('it is published', () => published.length === 1);
  const second = writer.write(stateOf(2));
  await until('it is published', () => published.length === 2);
  assert.deepEqual(writes, []);
  assert.equal(writer.waiting(), 0);
  await writer.write(stateOf(3));
  await Promise.all([first, second]);
  assert.deepEqual(published, [1, 2, 3]);
  assert.deepEqual(writes, [[3]]);
});

test('at the end nothing waits longer, also while writing fails', async () => {
  const writes: unknown[][] = [];
  let failures = 3;
  await using writer = createReportWriter({
    takeBatch: async (reports) => reports,
    writeBatch: async (reports) => {
      if (failures-- > 0) throw new Error('full');
      writes.push(numbersOf(reports));
      return reports;
    },
    onWritten: () => undefined,
    onFailure: () => undefined,
    clock: hasty,
  });
  const held = writer.write(stateOf(1));
  await new Promise((resolve) => setTimeout(resolve, 50));
  writer.hurry();
  await held;
  await writer.write(stateOf(2));
  assert.deepEqual(writes, [[], [2]]);
});
