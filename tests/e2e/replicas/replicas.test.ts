import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { connect, connectAsync } from 'mqtt';
import type { Device } from '@station/protocol/devices';
import type { DeviceCommand } from '@station/protocol/device-commands';
import { closeCodes, type ServerMessage } from '@station/protocol/socket';
import { createRandom } from '../../faults/choice.ts';
import { waitFor } from '../../rig/program.ts';
import { get, post, setUpOwner, startCluster, stationId, type Cluster, type Replica } from './cluster.ts';
import { startCounting, type CountingDevice } from './counting-devices.ts';
import { findLost, startLoad, watchForOffline } from './load.ts';
import { watch, type Watcher } from './watcher.ts';

const deviceCount = 8;
const killings = 6;

/** One cluster for all tests, which run one after another. */
let cluster: Cluster;
let token: string;
const devices: CountingDevice[] = [];
const watchers: Watcher[] = [];
const all = new AsyncDisposableStack();

before(async () => {
  cluster = all.use(await startCluster(['one', 'two', 'three'], deviceCount));
  token = await setUpOwner(cluster);
  for (const { url } of cluster.replicas) watchers.push(all.use(watch(url, token)));
  for (const login of cluster.logins) devices.push(all.use(await startCounting(cluster.mqttUrl, login)));
  await waitFor('all watchers to be connected', () => watchers.every((watcher) => watcher.isIn()));
  await waitFor('a leader', () => cluster.leader());
  // The broker ends their first connections when their logins are created; messages in flight would be repeated.
  await waitFor('all replicas to receive', async () => {
    const hearing = await cluster.query('select 1 from replicas where hears = 1');
    return hearing.length === cluster.replicas.length;
  });
});
after(() => all.disposeAsync());

const counted = ({ messages: heard }: Watcher, from = 0): string[] =>
  heard
    .slice(from)
    .flatMap((message) =>
      message.type === 'device_event' && message.data['action'] === 'counted'
        ? [`${message.deviceId} ${String(message.data['n'])}`]
        : [],
    );

const nothingLost = (): Promise<true> =>
  waitFor('everything acknowledged to be on disk', async () => (await findLost(cluster, devices)).length === 0);

async function doLastStatesHold(): Promise<boolean> {
  const rows = await cluster.query<{ external_id: string; state: string }>('select external_id, state from devices');
  return devices.every(({ externalId, lastState }) => {
    const row = rows.find(({ external_id }) => external_id === externalId);
    return row !== undefined && (JSON.parse(row.state) as { count: number }).count === lastState();
  });
}

const lastStatesHold = (): Promise<true> =>
  waitFor('the last state of each device to be the one on disk', doLastStatesHold);

const replica = (id: string): Replica => {
  const found = cluster.replicas.find((one) => one.id === id);
  assert.ok(found);
  return found;
};

async function deviceNamed(externalId: string): Promise<Device> {
  const { body } = await get<Device[]>(`${replica('one').url}/api/devices`, token);
  const device = body.find((one) => one.externalId === externalId);
  assert.ok(device);
  return device;
}

test('stores messages of devices once, and every replica reports the same in the same order', async () => {
  for (let round = 0; round < 100; round++) await Promise.all(devices.map((device) => device.count()));
  await nothingLost();
  const total = 100 * deviceCount;
  await waitFor('all watchers to receive everything', () =>
    watchers.every((watcher) => counted(watcher).length >= total),
  );
  const [first, ...others] = watchers.map((watcher) => counted(watcher));
  assert.equal(first?.length, total);
  for (const other of others) assert.deepEqual(other, first);
  const [row] = await cluster.query<{ n: string }>(
    `select count(*) as n from device_events where data like '%"counted"%'`,
  );
  assert.equal(Number(row?.n), total);
});

test('after kills of each replica under load, nothing is lost, one leads, and no device is shown as offline', async (t) => {
  await using offline = watchForOffline(cluster);
  const load = startLoad(devices, 10);
  const leaderlessMs: number[] = [];
  for (let killing = 0; killing < killings; killing++) {
    const leader = await waitFor('a leader', () => cluster.leader());
    const other = cluster.replicas.find(({ id }) => id !== leader.id);
    const victim = killing % 2 === 0 ? leader : (other ?? leader);
    const takeovers = async (): Promise<number> =>
      (await cluster.log()).split(`"replica_session_taken_over","replicaId":"${victim.id}"`).length;
    const before = await takeovers();
    await victim.kill();
    const since = performance.now();
    await waitFor('another leader', async () => {
      const next = await cluster.leader();
      return next !== null && next.id !== victim.id;
    });
    if (victim === leader) leaderlessMs.push(Math.round(performance.now() - since));
    // In every second round it stays offline until the others have its messages.
    if (killing % 2 === 0) {
      const snapshot = devices.map(({ externalId, acknowledged }) => ({
        externalId,
        acknowledged: new Set(acknowledged),
      }));
      await waitFor('its messages to be on disk', async () => (await findLost(cluster, snapshot)).length === 0);
      // All its messages may already be on disk; its session is taken over anyway.
      await waitFor('its session to be taken over', async () => (await takeovers()) > before);
    }
    await victim.start();
  }
  await load.end();
  await nothingLost();
  await sleep(1_000);
  await Promise.all(devices.map((device) => device.count()));
  await lastStatesHold();
  const snapshot = devices.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0);
  t.diagnostic(
    `${snapshot} numbers acknowledged over ${killings} kills; without a leader for ${leaderlessMs.join(', ')} ms`,
  );
  assert.deepEqual([...offline.seen], []);
  const reported = watchers.flatMap(({ messages: heard }) => heard.filter(isOffline));
  assert.deepEqual(reported, []);
});

const isOffline = (message: ServerMessage): boolean => message.type === 'device_status' && message.status === 'offline';

test('a disconnected device is shown as offline at all replicas, and as online when it reconnects', async () => {
  const [lost, ...others] = devices;
  assert.ok(lost);
  const { id } = await deviceNamed(lost.externalId);
  const reported = (status: string): boolean =>
    watchers.every(({ messages: heard }) => {
      const last = heard.findLast((message) => message.type === 'device_status' && message.deviceId === id);
      return last?.type === 'device_status' && last.status === status;
    });
  await lost.vanish();
  await waitFor('all to report it offline', () => reported('offline'), 60_000);
  await Promise.all(others.map((device) => device.count()));
  lost.comeBack();
  await waitFor('all to report it online', () => reported('online'));
});

test('a command is confirmed at all replicas, whichever one receives the answer, also when the sender is killed', async () => {
  const lamp = devices.find(({ externalId }) => externalId.startsWith('light'));
  assert.ok(lamp);
  const { id } = await deviceNamed(lamp.externalId);
  const send = (): Promise<DeviceCommand> => {
    const body = { action: 'turn_on' };
    return post<DeviceCommand>(`${replica('one').url}/api/devices/${id}/command`, body, token);
  };
  const confirmed = (commandId: string): boolean =>
    ['two', 'three'].every((name) =>
      watchers[cluster.replicas.indexOf(replica(name))]?.messages.some(
        (message) =>
          message.type === 'device_command' && message.commandId === commandId && message.status === 'confirmed',
      ),
    );
  const sent: string[] = [];
  for (let n = 0; n < 9; n++) sent.push((await send()).commandId);
  await waitFor('all commands to be confirmed', () => sent.every(confirmed));

  lamp.confirms = false;
  const { commandId } = await send();
  await waitFor('the command at the lamp', () => lamp.commands.some((command) => command.commandId === commandId));
  await replica('one').kill();
  const topic = `station/${stationId}/device/${lamp.externalId}/event`;
  const ack = { event: 'device_event', data: { action: 'command_ack', commandId } };
  await lamp.client.publishAsync(topic, JSON.stringify(ack), { qos: 1 });
  await waitFor('the confirmation without the sender', () => confirmed(commandId));
  await replica('one').start();
});

test('a token revoked at one replica is refused at all, and its sockets are closed', async () => {
  const urls = cluster.replicas.map(({ url }) => url);
  const [one, two, three] = urls;
  const person = { email: 'petro@example.org', password: 'a long enough password' };
  const member = await post<{ userId: string }>(
    `${one}/api/station/members`,
    { ...person, name: 'Petro', role: 'admin' },
    token,
  );
  const { accessToken } = await post<{ accessToken: string }>(`${two}/api/auth/login`, person);
  for (const url of urls) assert.equal((await get(`${url}/api/devices`, accessToken)).status, 200);
  await using watcher = watch(String(three), accessToken);
  await waitFor('the sockets to be connected', () => watcher.isIn());
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const url = `${one}/api/station/members/${member.userId}`;
  const changed = await fetch(url, { method: 'PATCH', headers, body: '{"role":"member"}' });
  assert.equal(changed.status, 200);
  await waitFor('the token to be refused everywhere', async () => {
    const statuses = await Promise.all(urls.map(async (at) => (await get(`${at}/api/devices`, accessToken)).status));
    return statuses.every((status) => status === 401);
  });
  await waitFor('the socket to be closed', () => watcher.closes.includes(closeCodes.unauthorized));
  // A replica that was offline then also refuses it.
  await replica('three').kill();
  await replica('three').start();
  assert.equal((await get(`${three}/api/devices`, accessToken)).status, 401);
  assert.equal((await get(`${three}/api/devices`, token)).status, 200);
});

test('a replica that lost its notifications resets its clients, and they miss nothing afterwards', async () => {
  const cut = replica('two');
  const watcher = watchers[cluster.replicas.indexOf(cut)];
  assert.ok(watcher);
  await waitFor('all watchers to be connected', () => watchers.every((one) => one.isIn()));
  const load = startLoad(devices, 20);
  watcher.closes.length = 0;
  await cluster.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'station-replica two'`,
  );
  await waitFor('its clients to be closed', () => watcher.closes.includes(closeCodes.tryLater));
  await waitFor('them to be connected again', () => watcher.isIn());
  await load.end();
  await nothingLost();
  const from = watchers.map(({ messages: heard }) => heard.length);
  await Promise.all(devices.map((device) => device.count()));
  await waitFor('all watchers to receive the next number', () =>
    watchers.every((one, index) => counted(one, from[index]).length === deviceCount),
  );
  const states = watcher.messages.slice(from[watchers.indexOf(watcher)]).filter(({ type }) => type === 'device_state');
  const last = new Set(devices.map(({ lastState }) => lastState()));
  for (const message of states) {
    assert.ok(message.type === 'device_state' && last.has(Number(message.state['count'])), JSON.stringify(message));
  }
  assert.ok(await waitFor('a leader', () => cluster.leader()));
});

test('restarts of all replicas under load lose nothing and show no device as offline', async () => {
  await using offline = watchForOffline(cluster);
  const load = startLoad(devices, 10);
  for (const one of cluster.replicas) {
    await one.stop();
    await one.start();
  }
  await load.end();
  await nothingLost();
  await sleep(1_000);
  await Promise.all(devices.map((device) => device.count()));
  await lastStatesHold();
  assert.deepEqual([...offline.seen], []);
});

test('a hanging leader is replaced and its session taken over; when it continues it is a normal replica', async () => {
  await using offline = watchForOffline(cluster);
  const leader = await waitFor('a leader', () => cluster.leader());
  const watcher = watchers[cluster.replicas.indexOf(leader)];
  assert.ok(watcher);
  watcher.closes.length = 0;
  leader.freeze();
  await Promise.all(devices.map((device) => device.count()));
  const isOther = (next: Replica | null): boolean => next !== null && next.id !== leader.id;
  await waitFor('another leader', async () => isOther(await cluster.leader()), 60_000);
  await nothingLost();
  leader.thaw();
  await waitFor('its clients to reconnect', () => watcher.closes.length > 0 && watcher.isIn());
  await sleep(1_000);
  assert.ok(isOther(await cluster.leader()));
  await Promise.all(devices.map((device) => device.count()));
  await nothingLost();
  await lastStatesHold();
  assert.deepEqual([...offline.seen], []);
});

test('a replica that hangs during a write does not block the others', async () => {
  await using offline = watchForOffline(cluster);
  const leader = await waitFor('a leader', () => cluster.leader());
  const one = cluster.replicas.find(({ id }) => id !== leader.id);
  assert.ok(one);
  const watcher = watchers[cluster.replicas.indexOf(one)];
  assert.ok(watcher);
  const load = startLoad(devices, 10);
  const random = createRandom(11);
  await waitFor('it to hang with rows of the database locked', async () => {
    one.freeze();
    await sleep(500);
    const held = await cluster.query(
      `select 1 from pg_stat_activity where application_name = 'station-backend ' || $1
       and state = 'idle in transaction' and state_change < now() - interval '400 ms'`,
      [one.id],
    );
    if (held.length > 0) return true;
    one.thaw();
    await sleep(random() * 50);
    return false;
  });
  watcher.closes.length = 0;
  await load.end();
  await nothingLost();
  one.thaw();
  await waitFor('its clients to reconnect', () => watcher.closes.length > 0 && watcher.isIn());
  // While it reads what it missed, it cannot know whether a state is newer than the one on disk; the next state counts.
  await waitFor('the next states to be on disk', async () => {
    await Promise.all(devices.map((device) => device.count()));
    await nothingLost();
    await sleep(500);
    return doLastStatesHold();
  });
  assert.deepEqual([...offline.seen], []);
});

test('reads the queue of the former single backend and ends its session', async () => {
  const options = {
    clientId: `station-${stationId}`,
    clean: false,
    protocolVersion: 5,
    properties: { sessionExpiryInterval: 3_600 },
    username: 'backend',
    password: cluster.mosquitto.password,
    reconnectPeriod: 0,
  } as const;
  const single = await connectAsync(cluster.mqttUrl, options);
  await single.subscribeAsync('station/+/device/+/event', { qos: 1 });
  await single.endAsync();
  const [device] = devices;
  assert.ok(device);
  await device.count();
  const n = device.lastState();
  const leader = await waitFor('a leader', () => cluster.leader());
  await leader.kill();
  await waitFor('the message to be stored', async () => {
    const rows = await cluster.query(
      `select 1 from device_events join devices on devices.id = device_id
       where external_id = $1 and data like '%"n":' || $2 || '}%'`,
      [device.externalId, String(n)],
    );
    // At least once: a killed replica may store a message twice.
    return rows.length >= 2;
  });
  await leader.start();
  const ended = `"mqtt_session_ended","clientId":"${options.clientId}"`;
  await waitFor('the session to be ended', async () => (await cluster.log()).includes(ended));
  const again = connect(cluster.mqttUrl, options);
  const isResumed = await new Promise<boolean>((resolve) => {
    again.once('connect', ({ sessionPresent }) => resolve(sessionPresent));
  });
  await again.endAsync();
  assert.equal(isResumed, false);
});
