import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sql } from 'kysely';
import { systemClock } from '@station/kit/clock';
import type { DeviceReport } from '../core/device-events.ts';
import { createEventIds } from '../core/event-ids.ts';
import { alwaysTrusted } from '../core/trusted-time.ts';
import type { Store } from '../store/database.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { createLoggedReports } from '../store/logged-reports.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { newestTime } from './correct-times.ts';
import { openReportLog, type ReportLog } from './report-log.ts';
import { type WriteAlong, writeReports } from './report-store.ts';

const isPostgres = process.env['STATION_TEST_POSTGRES'] !== undefined;
const minute = 60_000;
const begun = Date.UTC(2026, 10, 23, 12);

async function withDevices(count: number) {
  const store = await openTestStore();
  const ids = Array.from({ length: count }, (_, index) => `d${index}`);
  for (const id of ids) {
    await sql`insert into devices (id, external_id, type, name, device_token, created_at)
      values (${id}, ${`x-${id}`}, 'climate', ${id}, ${`t-${id}`}, 0)`.execute(store.db);
  }
  let nowMs = 0;
  const open = (logged = store.logged, writeAlong?: WriteAlong): Promise<ReportLog> =>
    openReportLog({
      store: { ...store, logged },
      trustedTime: alwaysTrusted,
      newId: createEventIds(Date.now),
      writeAlong,
      clock: { monotonic: () => nowMs },
      logger: recordedLog(),
    });
  const advance = (ms: number): void => void (nowMs += ms);
  return { store, ids, open, advance, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

const waits = (deviceId: string, at: number, state: Record<string, unknown>): DeviceReport => ({
  kind: 'state',
  deviceId,
  at: begun + at,
  state,
  mayWait: true,
});

async function tables({ db }: Store) {
  const { rows: devices } = await sql`
    select id, state, state_at, value_times, status, last_seen_at from devices order by id`.execute(db);
  const { rows: samples } = await sql`
    select device_id, capability, at, value, later from device_samples order by device_id, capability, at`.execute(db);
  const { rows: transitions } = await sql`
    select device_id, capability, at, value from device_transitions order by device_id, capability, at`.execute(db);
  const { rows: storage } = await sql`select * from device_storage order by device_id`.execute(db);
  return { devices, samples, transitions, storage };
}

const valuesOf = async ({ db }: Store): Promise<unknown[]> =>
  (await db.selectFrom('device_samples').select('value').orderBy('at').execute()).map(({ value }) => value);

describe('the log of reports', { skip: isPostgres && 'the log is for SQLite' }, () => {
  it('moves the others when no table takes one of them', async () => {
    await using all = await withDevices(1);
    const { store, open } = all;
    const log = await open();
    await sql`create trigger refuse before insert on device_samples when new.value = 666
      begin select raise(abort, 'refused'); end`.execute(store.db);
    for (const [at, temperature] of [20, 666, 21].entries())
      await log.take([waits('d0', at * minute, { temperature })]);
    await log.write([]);
    await store.logged.settle();
    assert.deepEqual(await valuesOf(store), [20, 21]);
    // Nothing is left to be moved by a later start.
    await open(createLoggedReports());
    assert.deepEqual(await valuesOf(store), [20, 21]);
  });

  it('loses nothing when the disk becomes full while reports are moved one by one', async () => {
    await using all = await withDevices(1);
    const { store, open } = all;
    const full = Object.assign(new Error('database or disk is full'), { errcode: 13 });
    // The move of all, the first report, the second.
    const ends: (Error | null)[] = [new Error('refused'), null, full];
    const log = await open(store.logged, async () => {
      const end = ends.shift() ?? null;
      if (end !== null) throw end;
    });
    for (const [at, temperature] of [20, 21, 22].entries()) await log.take([waits('d0', at * minute, { temperature })]);
    await log.write([]);
    await assert.rejects(store.logged.settle(), full);
    await open(createLoggedReports());
    assert.deepEqual(await valuesOf(store), [20, 21, 22]);
  });

  it('tells of a value that may wait at once, and has it in the tables when somebody needs them', async () => {
    await using all = await withDevices(1);
    const { store, open } = all;
    const log = await open();
    const taken = await log.take([waits('d0', 1, { temperature: 20 })]);
    assert.deepEqual([...(taken?.before ?? [])], [['d0', '{}']]);
    const next = await log.take([waits('d0', 2, { humidity: 40 })]);
    assert.deepEqual([...(next?.before ?? [])], [['d0', '{"temperature":20}']]);
    const devices = createDeviceStore({ db: store.db, logged: store.logged, clock: systemClock });
    const row = await devices.findById('d0');
    assert.equal(row?.state, '{"temperature":20,"humidity":40}');
    assert.equal(row?.last_seen_at, begun + 2);
    assert.deepEqual(await valuesOf(store), []);
    await store.logged.settle();
    assert.deepEqual(await valuesOf(store), [20, 40]);
    assert.equal((await createDeviceStore({ db: store.db, clock: systemClock }).findById('d0'))?.state, row?.state);
  });

  it('does not take what must be on disk: an event, a switch that changed, a sender who waits', async () => {
    await using all = await withDevices(1);
    const log = await all.open();
    const event: DeviceReport = { kind: 'event', deviceId: 'd0', at: begun, eventKind: 'user_event', data: {} };
    const { mayWait: _, ...awaited } = waits('d0', 1, { temperature: 20 }) as DeviceReport & { kind: 'state' };
    assert.equal(await log.take([waits('d0', 1, { temperature: 20 }), event]), null);
    assert.equal(await log.take([waits('d0', 1, { on: true })]), null);
    assert.equal(await log.take([awaited]), null);
  });

  it('has everything that was written after the process ended at once', async () => {
    await using all = await withDevices(2);
    const { store, open } = all;
    const log = await open();
    await log.take([waits('d0', 1, { temperature: 20 })]);
    await log.write([waits('d1', 2, { on: true })]);
    await log.take([waits('d0', 3, { temperature: 21 })]);
    assert.deepEqual(await valuesOf(store), []);
    assert.equal(await newestTime(store), begun + 2, 'the clock begins after it');
    // Another process: its memory is empty.
    const logged = createLoggedReports();
    await open(logged);
    assert.deepEqual(await valuesOf(store), [20]);
    assert.deepEqual((await tables(store)).transitions.length, 1);
    await logged.settle();
    assert.deepEqual(await valuesOf(store), [20], 'nothing is moved twice');
  });

  it('loses nothing that it took while nothing can be written', async () => {
    await using all = await withDevices(1);
    const { store, open } = all;
    const log = await open();
    await log.take([waits('d0', 1, { temperature: 20 })]);
    await sql`alter table report_log rename to report_log_elsewhere`.execute(store.db);
    await assert.rejects(log.write([]));
    await assert.rejects(store.logged.settle());
    await sql`alter table report_log_elsewhere rename to report_log`.execute(store.db);
    await log.write([]);
    const logged = createLoggedReports();
    await open(logged);
    assert.deepEqual(await valuesOf(store), [20]);
  });

  it('leaves the same rows as writing each batch at once', async () => {
    await using logged = await withDevices(3);
    await using direct = await withDevices(3);
    const log = await logged.open();
    const newId = createEventIds(Date.now);
    for (let turn = 0; turn < 120; turn++) {
      const at = turn * 20_000;
      const deviceId = `d${turn % 3}`;
      const state =
        turn % 7 === 0 ? { on: turn % 2 === 0, temperature: turn } : { temperature: turn, humidity: turn % 20 };
      const batch: DeviceReport[] = [waits(deviceId, at, state)];
      if (turn % 5 === 0)
        batch.push({ kind: 'event', deviceId, at: begun + at, eventKind: 'user_event', data: { turn } });
      if (turn % 11 === 0)
        batch.push({ kind: 'status', deviceId, at: begun + at, status: turn % 2 === 0 ? 'online' : 'offline' });
      if ((await log.take(batch)) === null) await log.write(batch);
      await writeReports(direct.store, batch, newId);
      if (turn % 31 === 0) await logged.store.logged.settle();
    }
    await logged.store.logged.settle();
    assert.deepEqual(await tables(logged.store), await tables(direct.store));
  });

  it('uses its pages again, and moves everything to the tables after half an hour', async () => {
    await using all = await withDevices(1);
    const { store, open, advance } = all;
    const log = await open();
    for (let turn = 0; turn < 400; turn++) {
      advance(minute);
      await log.take([waits('d0', turn * minute, { temperature: turn })]);
      await log.write([]);
    }
    const rows = await store.db.selectFrom('report_log').select('slot').execute();
    assert.ok(rows.length < 40, `${rows.length} rows`);
    assert.ok((await valuesOf(store)).length >= 360);
  });
});
