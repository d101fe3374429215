import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from 'kysely';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import type { DeviceReport, Written } from '../../../apps/backend/src/core/device-events.ts';
import { createEventIds } from '../../../apps/backend/src/core/event-ids.ts';
import { createLeadership } from '../../../apps/backend/src/core/leadership.ts';
import { createFanOut, type Delivered, type FanOut } from '../../../apps/backend/src/replicas/fan-out.ts';
import { isStillLeader, unreceivedReplicas } from '../../../apps/backend/src/replicas/locks.ts';
import { startReplicas } from '../../../apps/backend/src/replicas/replicas.ts';
import { openSession, type SessionHandler } from '../../../apps/backend/src/replicas/session.ts';
import { writeSharedReports } from '../../../apps/backend/src/replicas/shared-reports.ts';
import { createTerm } from '../../../apps/backend/src/replicas/term.ts';
import { openStore } from '../../../apps/backend/src/store/database.ts';
import { createDeviceStore } from '../../../apps/backend/src/store/device-store.ts';
import { migrations } from '../../../apps/backend/src/store/migrations/all.ts';
import type { DatabaseTransaction } from '../../../apps/backend/src/store/schema.ts';
import { recordedLog } from '../../../apps/backend/testing/recorded-log.ts';
import { createPostgres } from '../../rig/postgres.ts';
import { waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';

async function openShared() {
  await using starting = new AsyncDisposableStack();
  const workspace = starting.use(await createWorkspace());
  const { url } = await createPostgres(workspace);
  const store = starting.use(
    await openStore({
      config: { kind: 'postgres', url },
      migrations,
      clock: systemClock,
      disk: nodeDisk,
      logger: recordedLog(),
      onDamage: () => undefined,
    }),
  );
  const devices = createDeviceStore({ db: store.db, clock: systemClock });
  const { id } = await devices.provision({ externalId: 'lamp', type: 'light', name: 'Lamp', zoneId: null });
  const broadcasts: DeviceReport[] = [];
  const newId = createEventIds(Date.now);
  const write = (
    reports: readonly DeviceReport[],
    mayDecide: (transaction: DatabaseTransaction) => Promise<boolean> = async () => false,
  ): Promise<Written> =>
    writeSharedReports({
      db: store.db,
      reports,
      newId,
      writeAlong: undefined,
      mayDecide,
      announce: async (_transaction, written) => void broadcasts.push(...written.reports),
    });
  const all = starting.move();
  const row = async () => (await devices.findById(id)) ?? assert.fail('The device is gone');
  return {
    url,
    folder: join(workspace.folder),
    db: store.db,
    id,
    broadcasts,
    write,
    row,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

test('the later message of a device wins at two replicas, and the history has all messages', async () => {
  await using shared = await openShared();
  const { id: deviceId, write, broadcasts } = shared;
  await write([{ kind: 'state', deviceId, at: 2_000, state: { brightness: 80 } }]);
  await write([{ kind: 'state', deviceId, at: 1_000, state: { brightness: 10, power: true } }]);
  assert.deepEqual(JSON.parse((await shared.row()).state), { brightness: 80, power: true });
  const samples = await shared.db.selectFrom('device_samples').select(['capability', 'value']).orderBy('at').execute();
  assert.deepEqual(samples.map(({ capability, value }) => `${capability} ${value}`).sort(), [
    'brightness 10',
    'brightness 80',
  ]);
  const transitions = shared.db.selectFrom('device_transitions').select(['capability', 'at', 'value']);
  assert.deepEqual(await transitions.where('capability', '=', 'power').execute(), [
    { capability: 'power', at: 1_000, value: 'true' },
  ]);
  assert.deepEqual(
    broadcasts.map((report) => report.kind === 'state' && report.state),
    [{ brightness: 80 }, { power: true }],
  );
});

test('ages of values and the fault of a device are stored by whichever replica writes', async () => {
  await using shared = await openShared();
  const { id: deviceId, write } = shared;
  const fault = { code: 'bad_value', end: 'state', at: 2_000, count: 1 } as const;
  await write([{ kind: 'state', deviceId, at: 1_000, state: { constructor: 1, power: true } }]);
  await write([
    { kind: 'state', deviceId, at: 2_000, state: { power: false } },
    { kind: 'fault', deviceId, at: 2_000, fault },
  ]);
  const faulty = await shared.row();
  assert.deepEqual([faulty.value_times, faulty.fault], ['{"constructor":1000}', JSON.stringify(fault)]);
  await write([
    { kind: 'state', deviceId, at: 3_000, state: { constructor: 2, power: true } },
    { kind: 'fault', deviceId, at: 3_000, fault: null },
  ]);
  const good = await shared.row();
  assert.deepEqual([good.state, good.value_times, good.fault], ['{"constructor":2,"power":true}', null, null]);
});

test('drops values that exceed the state from storage and broadcasts', async () => {
  await using shared = await openShared();
  const { id: deviceId, write, broadcasts, db } = shared;
  const names = (prefix: string) => Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`${prefix}${n}`, n]));
  await write([{ kind: 'state', deviceId, at: 2_000, state: names('a') }]);
  const late: DeviceReport = { kind: 'state', deviceId, at: 1_000, state: { a0: 7 } };
  const { cut } = await write([{ kind: 'state', deviceId, at: 3_000, state: { ...names('b'), a1: 'last' } }, late]);
  assert.deepEqual(cut, ['lamp']);
  const state = JSON.parse((await shared.row()).state) as Record<string, unknown>;
  assert.equal(Object.keys(state).length, 256);
  assert.equal(state['a1'], 'last');
  assert.deepEqual(Object.assign({}, ...broadcasts.map((report) => report.kind === 'state' && report.state)), state);
  const { rows } = await sql<{ state_times: string }>`select state_times from devices`.execute(db);
  assert.deepEqual(Object.keys(JSON.parse(rows[0]?.state_times ?? '') as object).sort(), Object.keys(state).sort());
  const samples = await db.selectFrom('device_samples').select(['capability', 'at']).execute();
  assert.equal(samples.length, 257, 'overtaken samples are stored too');
  assert.ok(samples.every(({ capability }) => Object.hasOwn(state, capability)));
});

test('many writers of the same devices lose no value and cause no deadlock', async () => {
  await using shared = await openShared();
  const { id: deviceId, write } = shared;
  const batch = (writer: number): DeviceReport[] =>
    Array.from({ length: 20 }, (_, index) => ({
      kind: 'state',
      deviceId,
      at: 1_000 + index,
      state: { [`value${writer}`]: index },
    }));
  await Promise.all(Array.from({ length: 8 }, (_, writer) => write(batch(writer))));
  const expected = Object.fromEntries(Array.from({ length: 8 }, (_, writer) => [`value${writer}`, 19]));
  assert.deepEqual(JSON.parse((await shared.row()).state), expected);
});

test('only the leader sets a device offline, and only without newer messages', async () => {
  await using shared = await openShared();
  const { id: deviceId, write, broadcasts } = shared;
  const offline = (quietSince: number): DeviceReport[] => [
    { kind: 'status', deviceId, at: 9_000, status: 'offline', quietSince },
  ];
  await write([{ kind: 'status', deviceId, at: 5_000, status: 'online' }]);
  const leads = async (): Promise<boolean> => true;
  await write(offline(5_000));
  assert.equal((await shared.row()).status, 'online');
  await write(offline(4_999), leads);
  assert.equal((await shared.row()).status, 'online');
  assert.equal(broadcasts.length, 1);
  await write(offline(5_000), leads);
  assert.equal((await shared.row()).status, 'offline');
});

/** The leadership of a replica; the session calls `tick`. */
function replicaFor(url: string, replicaId: string) {
  const leadership = createLeadership();
  const logger = recordedLog();
  const term = createTerm({
    replicaId,
    leadership,
    isReceiving: () => true,
    isReady: () => true,
    onUnreceived: () => undefined,
    monotonic: () => performance.now(),
    logger,
  });
  const handler: SessionHandler = {
    onConnected: () => undefined,
    onLost: term.end,
    onNotification: () => undefined,
    onTick: term.tick,
  };
  return { leadership, logger, open: () => openSession({ url, replicaId, handler, clock: systemClock, logger }) };
}

test('a decision that a leader has begun is on disk before the next term; later ones are refused', async () => {
  await using shared = await openShared();
  const one = replicaFor(shared.url, 'one');
  const two = replicaFor(shared.url, 'two');
  await using _one = await one.open();
  await waitFor('the first leader', () => one.leadership.isLeader());
  await using _two = await two.open();
  const epoch = one.leadership.epoch();
  const deciding = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<boolean>();
  const decision = shared.db.transaction().execute(async (transaction) => {
    asked.resolve(await isStillLeader(transaction, epoch));
    await deciding.promise;
  });
  assert.equal(await asked.promise, true);
  const { Client } = (await import('pg')).default;
  const administrator = new Client({ connectionString: shared.url });
  await administrator.connect();
  await administrator.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'station-replica one'`,
  );
  await administrator.end();
  await waitFor('the first to lose the leadership', () => !one.leadership.isLeader());
  const waiting = sql<{ pid: number }>`select pid from pg_stat_activity
    where starts_with(application_name, 'station-replica ') and wait_event_type = 'Lock'`;
  await waitFor(
    'the next term to wait for the decision',
    async () => (await waiting.execute(shared.db)).rows.length > 0,
  );
  assert.equal(one.leadership.isLeader() || two.leadership.isLeader(), false);
  deciding.resolve();
  await decision;
  await waitFor('another term', () => two.leadership.isLeader() || one.leadership.isLeader());
  const late = await shared.db.transaction().execute((transaction) => isStillLeader(transaction, epoch));
  assert.equal(late, false);
});

test('a second replica with the same name is refused until the first one has ended', async () => {
  await using shared = await openShared();
  const first = await replicaFor(shared.url, 'one').open();
  const later = replicaFor(shared.url, 'one');
  const second = later.open();
  let isOpen = false;
  void second.then(() => (isOpen = true));
  await waitFor('the second to be refused', () => later.logger.events('replica_cut_off').length > 0);
  assert.equal(isOpen, false);
  await first[Symbol.asyncDispose]();
  await using _second = await second;
});

test('the server detects a vanished machine, also during a write', async () => {
  await using shared = await openShared();
  const ask = async (setting: string): Promise<unknown> =>
    (await sql<Record<string, string>>`show ${sql.raw(setting)}`.execute(shared.db)).rows[0]?.[setting];
  assert.equal(await ask('tcp_keepalives_idle'), '5');
  assert.equal(await ask('tcp_keepalives_interval'), '2');
  assert.equal(await ask('tcp_keepalives_count'), '3');
  assert.equal(await ask('tcp_user_timeout'), '11000');
});

test('a replica is recorded before the broker queues messages for it, and unread only after it has ended', async () => {
  await using shared = await openShared();
  const unreceived = async (): Promise<string[]> => {
    const { rows } = await sql.raw<{ id: string }>(unreceivedReplicas).execute(shared.db);
    return rows.map(({ id }) => id);
  };
  const replicas = await startReplicas({
    id: 'new',
    db: shared.db,
    url: shared.url,
    hub: { closeAll: () => undefined },
    clock: systemClock,
    logger: recordedLog(),
  });
  const known = await shared.db.selectFrom('replicas').select('id').execute();
  assert.deepEqual(known, [{ id: 'new' }]);
  const row = shared.db.selectFrom('replicas').select('process');
  await waitFor('its liveness to be recorded', async () => Number((await row.executeTakeFirst())?.process) !== 0);
  assert.deepEqual(await unreceived(), []);
  await replicas[Symbol.asyncDispose]();
  assert.deepEqual(await unreceived(), ['new']);
});

test('all receive broadcasts in the same order, also large ones, and none for a failed write', async () => {
  await using shared = await openShared();
  const received: Record<string, Delivered[]> = { one: [], two: [] };
  await using stack = new AsyncDisposableStack();
  const fanOuts: FanOut[] = [];
  for (const [replicaId, list] of Object.entries(received)) {
    const fanOut = stack.use(
      createFanOut({
        db: shared.db,
        replicaId,
        deliver: (delivered) => void list.push(delivered),
        onTooMany: () => assert.fail(),
        clock: systemClock,
        logger: recordedLog(),
      }),
    );
    const handler: SessionHandler = {
      onConnected: () => fanOut.listening(true),
      onLost: () => fanOut.listening(false),
      onNotification: fanOut.receive,
      onTick: async () => undefined,
    };
    stack.use(await openSession({ url: shared.url, replicaId, handler, clock: systemClock, logger: recordedLog() }));
    fanOut.release();
    fanOuts.push(fanOut);
  }
  const will = (deviceId: string) => ({ kind: 'will', deviceId, at: 0, ageMs: 0 }) as const;
  const large = 'x'.repeat(100_000);
  for (let n = 0; n < 50; n++) fanOuts[n % 2]?.publish(will(`${n}`));
  fanOuts[0]?.publish(will(large));
  await assert.rejects(
    shared.db.transaction().execute(async (transaction) => {
      const name = await fanOuts[0]!.announce(transaction, will('never'));
      fanOuts[0]?.settled(name, false);
      throw new Error('rolled back');
    }),
    /rolled back/,
  );
  await waitFor('all broadcasts', () => Object.values(received).every((list) => list.length === 51));
  const ids = (list: Delivered[] = []): string[] =>
    list.map(({ message }) => (message.kind === 'will' ? message.deviceId : ''));
  assert.deepEqual(ids(received['one']), ids(received['two']));
  assert.ok(ids(received['one']).includes(large));
});
