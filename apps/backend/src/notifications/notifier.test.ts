import assert from 'node:assert/strict';
import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { nodeDisk } from '@station/kit/durable-files';
import { noProxy } from '@station/kit/outgoing-proxy';
import { startPushService } from '@station/simulators/notifications/push-service';
import { startPostBox } from '@station/simulators/notifications/receivers';
import { notificationTopics } from '@station/protocol/notifications';
import { createBackendConditions } from '../core/conditions.ts';
import { createDeviceEvents } from '../core/device-events.ts';
import { createLeadership } from '../core/leadership.ts';
import { alwaysTrusted } from '../core/trusted-time.ts';
import { ensureStation, createStationStore } from '../store/station-store.ts';
import { openSecretBox } from '../store/secret-box.ts';
import type { Store } from '../store/database.ts';
import { jumpingClock } from '../../testing/jumping-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';
import { setLimits } from '../store/member-limits.ts';
import { createMember } from '../../testing/test-member.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { createAgentClient } from '../core/adapters/agent-client.ts';
import { type Notifications, startNotifications } from './notifications.ts';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { localTime, untilTime } from '../core/local-time.ts';

const minute = 60_000;
const noon = Date.UTC(2026, 2, 1, 12);
const topics = [...notificationTopics];
const rules = { offlineMinutes: 5, batteryPercent: 20, updates: true, conditions: true };

/** Notifications on a real database, with a webhook that is really called; only the clock is the test's. */
async function world() {
  await using opening = new AsyncDisposableStack();
  const store: Store = opening.use(await openTestStore());
  const machine = jumpingClock(noon);
  const sleeping = new Set<object>();
  const clock = {
    ...machine,
    sleep: async (ms: number, signal?: AbortSignal): Promise<void> => {
      const sleep = {};
      sleeping.add(sleep);
      await machine.sleep(ms, signal).finally(() => sleeping.delete(sleep));
    },
  };
  let lives = 0;
  const box = opening.use(await startPostBox());
  const agent = opening.use(await simulateAgent());
  const logger = recordedLog();
  const events = createDeviceEvents(logger);
  const conditions = createBackendConditions({ clock, logger, onChanged: () => undefined });
  const leadership = createLeadership();
  leadership.set(1);
  await ensureStation(store.db, { stationId: null, generateId: randomUUIDv7, timeZone: 'UTC', clock });
  const kept = new Map<string, unknown>();
  const settings = {
    readSecret: async <T extends TSchema>(key: string, schema: T): Promise<Static<T> | null> => {
      const value = kept.get(key) ?? null;
      return Value.Check(schema, value) ? value : null;
    },
    writeSecret: async (key: string, value: unknown) => void kept.set(key, value),
  };
  const secretBox = await openSecretBox({ disk: nodeDisk, path: '', key: randomBytes(32) });
  const start = (): Notifications => {
    lives += 1;
    const life = startNotifications({
      db: store.db,
      box: secretBox,
      settings,
      station: createStationStore(store.db),
      stationId: 'station',
      conditions,
      events,
      leadership,
      clock,
      logger,
      trustedTime: alwaysTrusted,
      random: () => 0.5,
      agent: createAgentClient({ kind: 'tcp', url: agent.url }, null),
      isBrokerReady: () => isBrokerReady,
      cloudConditions: async () => cloudConditions,
      typeNames: (type) => (type === 'light' ? { en: 'Light', uk: 'Лампа' } : {}),
      allow: ['127.0.0.1'],
      proxy: noProxy,
      localClock: (now) => ({
        minutes: localTime(now, 'UTC').minutes,
        until: (time) => untilTime(time, now, 'UTC'),
      }),
    });
    const end = async (): Promise<void> => {
      await life[Symbol.asyncDispose]();
      lives -= 1;
    };
    return { ...life, [Symbol.asyncDispose]: end };
  };
  let isBrokerReady = true;
  let cloudConditions: { id: string; severity: 'warning' }[] | null = [];
  const hasDue = async (): Promise<boolean> => {
    const due = store.db.selectFrom('notification_queue').select('id').where('not_before', '<=', clock.now());
    return lives > 0 && leadership.isLeader() && (await due.execute()).length > 0;
  };
  /** In steps; at each the loops finish their turns, and what is due is sent. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 15_000) {
      await clock.advance(Math.min(left, 15_000));
      await until('both loops wait', async () => sleeping.size >= 2 * lives && !(await hasDue()));
    }
  };
  const set = async (id: string, status: 'online' | 'offline', state = {}): Promise<void> => {
    const row = { status, state: JSON.stringify(state) };
    await store.db
      .insertInto('devices')
      .values({
        id,
        external_id: id,
        type: 'light',
        name: id,
        zone_id: null,
        device_token: id,
        created_at: 0,
        ...row,
      })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
      .execute();
  };
  const webhook = { url: box.url, topics, language: 'en' as const };
  const running = opening.move();
  return {
    store,
    clock,
    box,
    agent,
    conditions,
    leadership,
    logger,
    start,
    pass,
    set,
    titles: () => box.posts.map(({ body }) => body['title']),
    setUp: (service: Notifications['service']) => service.changeStation({ rules, mail: null, ntfy: null, webhook }),
    setBrokerReady: (isReady: boolean) => {
      isBrokerReady = isReady;
    },
    setCloud: (conditions: typeof cloudConditions) => {
      cloudConditions = conditions;
    },
    stopRollout: async (id: string, version: string): Promise<void> => {
      const times = { created_at: 0, ended_at: 0 };
      await store.db
        .insertInto('firmware_rollouts')
        .values({
          id,
          type: 'light',
          version,
          state: 'stopped',
          settings: '{}',
          wave: 1,
          reason: 'x',
          requested_by: null,
          ...times,
        })
        .execute();
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

test('an outage is told once, also by the next process, and its end too', async () => {
  await using station = await world();
  {
    await using life = station.start();
    await station.setUp(life.service);
    await station.set('Lamp', 'online');
    await station.pass(4 * minute);
    await station.set('Lamp', 'offline');
    await station.pass(4 * minute);
    assert.deepEqual(station.titles(), []);
    await station.pass(2 * minute);
    assert.deepEqual(station.titles(), ['Lamp is offline']);
    await station.pass(20 * minute);
  }
  await using _next = station.start();
  await station.pass(20 * minute);
  assert.deepEqual(station.titles(), ['Lamp is offline']);
  await station.set('Lamp', 'online');
  await station.pass(3 * minute);
  assert.deepEqual(station.titles(), ['Lamp is offline', 'Lamp is back online']);
});

test('after a start and after an outage of the broker, devices have time to connect', async () => {
  await using station = await world();
  await station.set('Lamp', 'offline');
  await using life = station.start();
  await station.setUp(life.service);
  await station.pass(4 * minute);
  await station.set('Lamp', 'online');
  await station.pass(4 * minute);
  station.setBrokerReady(false);
  await station.set('Lamp', 'offline');
  await station.pass(30 * minute);
  station.setBrokerReady(true);
  await station.pass(2 * minute);
  await station.set('Lamp', 'online');
  await station.pass(10 * minute);
  assert.deepEqual(station.titles(), []);
});

test('jumps of the clock are no outages, and lose no message', async () => {
  await using station = await world();
  await using life = station.start();
  await station.setUp(life.service);
  await station.set('Lamp', 'online');
  await station.pass(4 * minute);
  await station.set('Lamp', 'offline');
  station.clock.set(noon + 365 * 24 * 60 * minute);
  await station.pass(2 * minute);
  assert.deepEqual(station.titles(), []);
  station.clock.set(5_000);
  await station.pass(4 * minute);
  assert.deepEqual(station.titles(), ['Lamp is offline']);
});

test('conditions of the station and of the agent, and a rollback while this backend was down', async () => {
  await using station = await world();
  const operation = (id: string, result: string) => ({
    id,
    kind: 'update',
    trigger: 'automatic',
    result,
    from: '1.0.0',
    to: '1.1.0',
    reason: null,
    startedAt: '',
    endedAt: '',
    durationMs: 1,
    downtimeMs: null,
  });
  const condition = { id: 'internet_unreachable', severity: 'warning', message: '', since: '' };
  station.agent.answer('/status', 200, { history: [operation('1', 'failed')], conditions: [] });
  {
    await using life = station.start();
    await station.setUp(life.service);
    await station.pass(minute);
    station.conditions.set('backup_old', true);
    await station.pass(2 * minute);
    assert.deepEqual(
      station.box.posts.map(({ body }) => body['text']),
      ['There is no recent backup'],
    );
  }
  const history = [operation('2', 'rolled_back'), operation('1', 'failed')];
  station.agent.answer('/status', 200, { history, conditions: [condition] });
  await using _next = station.start();
  await station.pass(3 * minute);
  assert.deepEqual(station.titles().slice(1), ['Release 1.1.0 was rolled back', 'The station needs attention']);
  assert.equal(station.box.posts.at(-1)?.body['text'], 'No internet');
  station.conditions.set('backup_old', false);
  await station.pass(6 * minute);
  assert.deepEqual(station.titles().slice(3), ['No longer: There is no recent backup']);
});

test('what could not be sent is sent later, in order, with the same id, and dropped after a day', async () => {
  await using station = await world();
  await using life = station.start();
  await station.setUp(life.service);
  await station.set('Lamp', 'online', { battery: 80 });
  await station.pass(minute);
  station.box.answer(503);
  await station.set('Lamp', 'online', { battery: 5 });
  await station.pass(3 * minute);
  const failed = station.logger.events('notification_failed');
  assert.ok(failed.length >= 2);
  station.box.answer(200);
  await station.pass(5 * minute);
  assert.deepEqual(station.titles(), ['The battery of Lamp is low']);
  assert.equal(station.box.posts[0]?.body['id'], failed[0]?.['id']);
  assert.equal(station.box.posts[0]?.headers['idempotency-key'], failed[0]?.['id']);

  station.box.answer(503);
  await station.set('Lamp', 'online', { battery: 90 });
  await station.pass(minute);
  await station.set('Lamp', 'online', { battery: 4 });
  await station.pass(minute);
  station.clock.pass(25 * 60 * minute);
  await station.pass(3 * minute);
  assert.equal(station.logger.events('notification_dropped')[0]?.['count'], 1);
  station.box.answer(200);
  await station.pass(2 * minute);
  assert.equal(station.box.posts.length, 1);
});

test('a message that cannot be made, as one of a newer release, delays no other', async () => {
  await using station = await world();
  await using life = station.start();
  await station.setUp(life.service);
  const row = {
    channel: 'webhook' as const,
    user_id: null,
    subscription_id: null,
    alert: '{"kind":"of a newer release"}',
  };
  const times = { created_at: 0, not_before: 0, expires_at: station.clock.now() + 60 * minute };
  await station.store.db
    .insertInto('notification_queue')
    .values({ id: '0', ...row, ...times })
    .execute();
  await station.set('Lamp', 'online', { battery: 80 });
  await station.pass(minute);
  await station.set('Lamp', 'online', { battery: 5 });
  await station.pass(3 * minute);
  assert.deepEqual(station.titles(), ['The battery of Lamp is low']);
  assert.equal(station.logger.events('notification_failed')[0]?.['id'], '0');
});

test('only the replica that leads looks and sends', async () => {
  await using station = await world();
  await using life = station.start();
  await station.setUp(life.service);
  await station.set('Lamp', 'online');
  await station.pass(minute);
  station.leadership.set(null);
  await station.set('Lamp', 'offline');
  await station.pass(20 * minute);
  assert.deepEqual(station.titles(), []);
  station.leadership.set(2);
  await station.pass(4 * minute);
  assert.deepEqual(station.titles(), [], 'it has not watched for long enough');
  await station.pass(3 * minute);
  assert.deepEqual(station.titles(), ['Lamp is offline']);
});

test('in quiet hours a message waits; when its device is back meanwhile nobody hears of it', async () => {
  await using station = await world();
  const userId = await createMember(station.store.db, 'olena@example.org');
  const membership = { user_id: userId, role: 'member' as const, joined_at: 0 };
  await station.store.db.insertInto('station_members').values(membership).execute();
  await using life = station.start();
  const caller = { userId, sessionId: null };
  const quiet = { from: '12:00', to: '13:00' };
  await life.service.setPreferences(caller, { email: true, topics, quiet, language: 'en' });
  const mail = { host: '127.0.0.1', port: 9, security: 'none' as const, username: '', from: 'station@example.org' };
  await life.service.changeStation({ rules, mail, ntfy: null, webhook: null });
  const waiting = async (): Promise<string[]> => {
    const rows = await station.store.db.selectFrom('notification_queue').selectAll().orderBy('id').execute();
    return rows.map(({ alert, attempts }) => `${(JSON.parse(alert) as { kind: string }).kind} ${attempts}`);
  };
  for (const id of ['Lamp', 'Door']) await station.set(id, 'offline');
  await station.pass(6 * minute);
  assert.deepEqual(await waiting(), ['devices_offline 0']);
  await station.set('Lamp', 'online');
  await station.pass(4 * minute);
  const [held] = await station.store.db.selectFrom('notification_queue').selectAll().execute();
  assert.deepEqual(JSON.parse(held!.alert), { kind: 'devices_offline', devices: [{ id: 'Door', name: 'Door' }] });
  station.clock.pass(50 * minute);
  await station.pass(2 * minute);
  assert.match((await waiting())[0] ?? '', /^devices_offline [1-9]$/, 'now it is tried');
});

/** Takes connections and says nothing. */
async function startSilentServer() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => sockets.size,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await once(server.close(), 'close');
    },
  };
}

test('a mail server and a browser that never answer delay no other message', async () => {
  await using silent = await startSilentServer();
  await using pushService = await startPushService();
  await using station = await world();
  // The push service looks at the time of the sender, and at the address of the owner.
  station.clock.set(Date.now());
  const { db } = station.store;
  const userId = await createMember(db, 'olena@example.org');
  await db.updateTable('station').set({ owner_id: userId }).execute();
  const times = { created_at: 0, used_at: 0, expires_at: 2 * Date.now(), ends_at: 2 * Date.now() };
  const session = { id: 'session', user_id: userId, token_hash: '', user_agent: null, address: null };
  await db
    .insertInto('sessions')
    .values({ ...session, ...times })
    .execute();
  await using life = station.start();
  const caller = { userId, sessionId: session.id };
  await life.service.setPreferences(caller, { email: true, topics, quiet: null, language: 'en' });
  const mail = {
    host: '127.0.0.1',
    port: silent.port,
    security: 'none' as const,
    username: '',
    from: 'station@example.org',
  };
  await life.service.changeStation({ rules, mail, ntfy: null, webhook: null });
  const phone = pushService.subscribe();
  const { keys, endpoint } = phone.subscription;
  const dead = `http://127.0.0.1:${silent.port}/`;
  for (const address of [dead, endpoint])
    await life.service.subscribe(caller, { endpoint: address, keys, language: 'en' });
  for (const name of ['Lamp', 'Door']) await station.set(name, 'online', { battery: 80 });
  await station.pass(minute);
  for (const name of ['Lamp', 'Door']) {
    await station.set(name, 'online', { battery: 5 });
    await until(`the phone hears of ${name}`, async () => {
      await station.clock.advance(15_000);
      return JSON.stringify(phone.received).includes(name);
    });
    await until('the others are asked', () => silent.connections() === 2);
  }
  assert.deepEqual(station.logger.events('notification_failed'), []);
});

test('somebody who becomes limited to zones is told nothing more, not even what waits', async () => {
  await using station = await world();
  const { db } = station.store;
  const userId = await createMember(db, 'olena@example.org');
  await db.insertInto('station_members').values({ user_id: userId, role: 'member', joined_at: 0 }).execute();
  await using life = station.start();
  const quiet = { from: '12:00', to: '13:00' };
  await life.service.setPreferences({ userId, sessionId: null }, { email: true, topics, quiet, language: 'en' });
  const mail = { host: '127.0.0.1', port: 9, security: 'none' as const, username: '', from: 'station@example.org' };
  await life.service.changeStation({ rules, mail, ntfy: null, webhook: null });
  const waiting = async (): Promise<number> =>
    (await db.selectFrom('notification_queue').select('id').execute()).length;
  await station.set('Lamp', 'offline');
  await station.pass(6 * minute);
  assert.equal(await waiting(), 1);
  const limits = { role: 'limited' as const, zoneIds: [], endsAt: null };
  await db.transaction().execute((transaction) => setLimits(transaction, userId, limits));
  assert.equal(await waiting(), 0);
  await station.set('Door', 'offline');
  await station.pass(6 * minute);
  assert.equal(await waiting(), 0);
});

test('a stopped rollout of firmware and a condition of the cloud are told once, also by the next process', async () => {
  await using station = await world();
  await station.stopRollout('1', '1.0.0');
  {
    await using life = station.start();
    await station.setUp(life.service);
    await station.pass(minute);
    assert.deepEqual(station.titles(), [], 'it was stopped before anybody looked');
    await station.stopRollout('2', '2.0.0');
    station.setCloud([{ id: 'cloud_unreachable', severity: 'warning' }]);
    await station.pass(3 * minute);
    const stopped = 'The firmware update of Light to 2.0.0 was stopped';
    assert.deepEqual(station.titles(), [stopped, 'The station needs attention']);
    assert.equal(station.box.posts[1]?.body['text'], 'The cloud cannot be reached');
  }
  await using _next = station.start();
  // Another backend holds the link for a while: that is no end of the condition.
  station.setCloud(null);
  await station.pass(10 * minute);
  assert.equal(station.titles().length, 2);
  station.setCloud([]);
  await station.pass(10 * minute);
  assert.deepEqual(station.titles().slice(2), ['No longer: The cloud cannot be reached']);
});
