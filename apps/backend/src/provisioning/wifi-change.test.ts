import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { DevicesWifi } from '@station/protocol/devices-wifi';
import { type DeviceWifi, maxAnswerBytes } from '@station/protocol/rest';
import { newDeviceRow } from '../store/device-store.ts';
import { bearer, runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { addDevice, connectDevice, type DeviceLogin, type TestDevice } from '../../testing/test-device.ts';
import { postgresDatabase, postgresUrl } from '../../testing/test-postgres.ts';
import { until } from '../../testing/until.ts';

const agentToken = 'token-of-the-agent';
const env = { AGENT_TOKEN: agentToken };
const network = { ssid: 'Нова мережа', password: 'very secret network key' };
const handshake = { type: 'light', firmwareVersion: '1.0.0', chip: 'esp32' };

type Station = { running: RunningBackend; headers: Record<string, string> };

async function setUp(running: RunningBackend): Promise<Station> {
  return { running, headers: bearer((await running.setUp()).accessToken) };
}

const request = ({ running, headers }: Station, method: 'GET' | 'POST' | 'DELETE', path = '', payload?: object) =>
  running.http.inject({
    method,
    url: `/api/devices/wifi${path}`,
    headers,
    ...(payload === undefined ? {} : { payload }),
  });
const view = async (station: Station): Promise<DevicesWifi> => (await request(station, 'GET')).json<DevicesWifi>();
const forward = ({ running }: Pick<Station, 'running'>, wifi: object) =>
  running.http.inject({ method: 'POST', url: '/api/agent/wifi', headers: bearer(agentToken), payload: { wifi } });

const newDevicesWifi = async ({ running, headers }: Station): Promise<string | null> =>
  (await running.http.inject({ url: '/api/settings/wifi', headers })).json<DeviceWifi>().ssid;

/** Results by device id. */
async function results(station: Station): Promise<Record<string, string>> {
  const { change } = await view(station);
  return Object.fromEntries((change?.devices ?? []).map(({ deviceId, state }) => [deviceId, state]));
}

async function connectOnline(station: Station, login: DeviceLogin): Promise<TestDevice> {
  const { backend } = station.running;
  const device = await connectDevice(backend.mqttAddress ?? '', login);
  await device.publish('handshake', handshake);
  await device.publish('heartbeat', { status: 'online' });
  const isOnline = async (): Promise<boolean> => {
    const { status } = await backend.db
      .selectFrom('devices')
      .select('status')
      .where('id', '=', login.id)
      .executeTakeFirstOrThrow();
    return status === 'online';
  };
  await until('it is online', isOnline);
  return device;
}

const commandsOf = ({ received }: TestDevice) => received.filter(({ topic }) => topic.endsWith('/command'));

test('online devices are told and followed; others are told when they come online', async () => {
  await using running = await runBackend({ env });
  const station = await setUp(running);
  const { db } = running.backend;
  const a = await addDevice(db, 'a');
  const b = await addDevice(db, 'b');
  const c = await addDevice(db, 'c');
  await using first = await connectOnline(station, a);
  await using second = await connectOnline(station, b);
  const answer = await request(station, 'POST', '', network);
  assert.equal(answer.statusCode, 202, answer.body);
  await until('both are told', () => commandsOf(first).length === 1 && commandsOf(second).length === 1);
  const { commandId, ...rest } = commandsOf(first)[0]?.body ?? {};
  assert.deepEqual(rest, { action: 'wifi_update', ...network });
  assert.equal(typeof commandId, 'string');
  await until(
    'that is shown',
    async () => Object.values(await results(station)).filter((s) => s === 'told').length === 2,
  );
  assert.deepEqual(await results(station), { [a.id]: 'told', [b.id]: 'told', [c.id]: 'offline' });
  await first.publish('handshake', handshake);
  await until('it has followed', async () => (await results(station))[a.id] === 'followed');
  await using third = await connectOnline(station, c);
  await until('the third is told too', () => commandsOf(third).length === 1);
  assert.equal((await request(station, 'POST', '', network)).statusCode, 409);
  await second.publish('handshake', handshake);
  await third.publish('handshake', handshake);
  await until('it ends', async () => (await view(station)).change?.state === 'ended');
  const { change } = await view(station);
  assert.deepEqual([change?.ssid, change?.counts.followed, change?.devices.length], [network.ssid, 3, 3]);
  assert.equal(commandsOf(first).length, 1);
});

test('the password is in no answer, no log line and, after the end, nowhere in the database', async () => {
  await using running = await runBackend({ env });
  const station = await setUp(running);
  const { db } = running.backend;
  await using device = await connectOnline(station, await addDevice(db, 'a'));
  const bodies = [(await request(station, 'POST', '', network)).body];
  const credentials = async () =>
    (await db.selectFrom('wifi_changes').select('credentials').executeTakeFirst())?.credentials;
  const sealed = await credentials();
  assert.ok(sealed && !Buffer.from(sealed, 'base64').toString('latin1').includes(network.password));
  await until('it is told', () => commandsOf(device).length === 1);
  await device.publish('handshake', handshake);
  await until('it ends', async () => (await view(station)).change?.state === 'ended');
  bodies.push((await request(station, 'GET')).body);
  assert.equal(await credentials(), null);
  assert.deepEqual(await db.selectFrom('device_commands').selectAll().execute(), []);
  for (const text of [...bodies, ...running.logger.lines]) assert.ok(!text.includes(network.password));
  const [ended] = running.logger.events('devices_wifi_ended');
  assert.deepEqual([ended?.['state'], ended?.['followed']], ['ended', 1]);
});

test('a device that does not come in 3 minutes has not followed', async () => {
  let ahead = 0;
  const clock = {
    ...systemClock,
    now: () => Date.now() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
  };
  await using running = await runBackend({ env, clock });
  const station = await setUp(running);
  const login = await addDevice(running.backend.db, 'a');
  await using device = await connectOnline(station, login);
  await request(station, 'POST', '', network);
  await until('it is told', async () => (await results(station))[login.id] === 'told');
  await until('it has the message', () => commandsOf(device).length === 1);
  ahead = 3 * 60_000;
  // Something happens, so that the backend looks again: its own timer cannot be moved.
  running.backend.deviceEvents.emit({ kind: 'removed', deviceId: 'other', externalId: 'other' });
  await until('it ends', async () => (await view(station)).change?.state === 'ended');
  assert.deepEqual(await results(station), { [login.id]: 'not_followed' });
});

test('a cancelled change tells nobody else, and a device that was told may still follow', async () => {
  await using running = await runBackend({ env });
  const station = await setUp(running);
  const { db } = running.backend;
  const a = await addDevice(db, 'a');
  const b = await addDevice(db, 'b');
  await using device = await connectOnline(station, a);
  await request(station, 'POST', '', network);
  await until('it is told', async () => (await results(station))[a.id] === 'told');
  assert.equal((await request(station, 'POST', '/cancel')).json<DevicesWifi>().change?.state, 'cancelled');
  assert.equal((await request(station, 'POST', '/cancel')).statusCode, 409);
  await using late = await connectOnline(station, b);
  await device.publish('handshake', handshake);
  await until('it has followed', async () => (await results(station))[a.id] === 'followed');
  await sleep(100);
  assert.deepEqual(commandsOf(late), []);
  assert.equal((await request(station, 'POST', '', network)).statusCode, 202, 'another change may begin');
  await until('both are told now', () => commandsOf(late).length === 1 && commandsOf(device).length === 2);
});

test('progress survives a restart of the backend, and nobody is told twice', async () => {
  await using folder = await temporaryFolder();
  const dataDir = `${folder.path}/data`;
  // Kept by this test, or the first backend would drop it.
  await using _database = postgresUrl === null ? null : await postgresDatabase(postgresUrl, dataDir);
  const logins: DeviceLogin[] = [];
  let headers: Record<string, string>;
  {
    await using running = await runBackend({ env, dataDir });
    const station = await setUp(running);
    headers = station.headers;
    logins.push(await addDevice(running.backend.db, 'a'), await addDevice(running.backend.db, 'b'));
    await using _device = await connectOnline(station, logins[0]!);
    await request(station, 'POST', '', network);
    await until('it is told', async () => (await results(station))[logins[0]!.id] === 'told');
  }
  await using running = await runBackend({ env, dataDir });
  const station = { running, headers };
  const [a, b] = logins as [DeviceLogin, DeviceLogin];
  assert.deepEqual(await results(station), { [a.id]: 'told', [b.id]: 'offline' });
  await using late = await connectOnline(station, b);
  await until('the late one is told the password as before', () => commandsOf(late).length === 1);
  assert.equal(commandsOf(late)[0]?.body['password'], network.password);
  await using back = await connectOnline(station, a);
  await until('the first has followed', async () => (await results(station))[a.id] === 'followed');
  await late.publish('handshake', handshake);
  await until('it ends', async () => (await view(station)).change?.state === 'ended');
  assert.deepEqual(commandsOf(back), []);
});

test('a network that devices cannot join is refused', async () => {
  await using running = await runBackend({ env });
  const station = await setUp(running);
  for (const body of [
    {},
    { ssid: 'Home' },
    { ssid: '', password: '' },
    { ssid: 'Home', password: 'x'.repeat(129) },
    { ssid: 'Мережа завдовжки', password: network.password },
    { ...network, extra: 1 },
  ]) {
    const { statusCode } = await request(station, 'POST', '', body);
    assert.equal(statusCode, body.ssid === 'Мережа завдовжки' ? 202 : 400, JSON.stringify(body));
  }
  const long = await request(station, 'POST', '', { ssid: 'Мережа завдовжки 33', password: '' });
  assert.equal(long.statusCode, 400);
  const without = await request(station, 'POST');
  assert.deepEqual([without.statusCode, without.json<{ code: string }>().code], [409, 'no_wifi_credentials']);
  assert.equal((await running.http.inject({ url: '/api/devices/wifi' })).statusCode, 401);
});

test('the largest network that is taken fits into what a device can receive', async () => {
  await using running = await runBackend({ env });
  const station = await setUp(running);
  const login = await addDevice(running.backend.db, 'x'.repeat(64));
  await using device = await connectOnline(station, login);
  // Control characters take six bytes in JSON.
  await request(station, 'POST', '', { ssid: '\u0001'.repeat(32), password: '\u0001'.repeat(64) });
  await until('it is told', () => commandsOf(device).length === 1);
});

test('a station that moves to another network offers to bring its devices along', async () => {
  await using running = await runBackend({ env });
  const station = await setUp(running);
  const messages: DevicesWifi[] = [];
  using _listening = running.backend.deviceEvents.subscribe((event) => {
    if (event.kind === 'message' && event.message.type === 'devices_wifi') messages.push(event.message);
  });
  const old = { ssid: 'Old', password: 'password of the old one' };
  const offer = async () => (await view(station)).offer;
  await forward(station, old);
  assert.deepEqual((await view(station)).stationSsid, 'Old');
  await forward(station, { ...old, password: 'another password' });
  assert.equal(await offer(), null, 'no device depends on it');
  await forward(station, old);
  const login = await addDevice(running.backend.db, 'a');
  await forward(station, old);
  assert.equal(await offer(), null, 'nothing changed');
  await forward(station, network);
  assert.deepEqual([await offer(), messages.at(-1)?.offer], [{ ssid: network.ssid }, { ssid: network.ssid }]);
  await forward(station, network);
  assert.deepEqual(await offer(), { ssid: network.ssid });
  await forward(station, old);
  assert.equal(await offer(), null, 'the station is back where the devices are');
  await forward(station, network);
  assert.equal((await request(station, 'DELETE', '/offer')).statusCode, 204);
  assert.deepEqual([await offer(), messages.at(-1)?.offer], [null, null]);
  await forward(station, old);
  assert.deepEqual(await offer(), { ssid: 'Old' });
  await using device = await connectOnline(station, login);
  assert.equal((await request(station, 'POST')).statusCode, 202);
  await until('the device is told the network of the station', () => commandsOf(device).length === 1);
  const { ssid, password } = commandsOf(device)[0]?.body ?? {};
  assert.deepEqual([ssid, password, await offer()], [old.ssid, old.password, null]);
});

test('the network of devices is never replaced by a join of the station alone: a person is asked', async () => {
  await using running = await runBackend({ env });
  const station = await setUp(running);
  const home = { ssid: 'Home', password: 'password of the home' };
  const foreign = { ssid: 'Foreign', password: 'password of somebody' };
  const forNewDevices = () => newDevicesWifi(station);
  await forward(station, foreign);
  assert.equal(await forNewDevices(), 'Foreign', 'nothing depends on it yet');
  await forward(station, home);
  assert.equal(await forNewDevices(), 'Home');
  await addDevice(running.backend.db, 'a');
  await forward(station, foreign);
  assert.deepEqual([await forNewDevices(), (await view(station)).offer], ['Home', { ssid: 'Foreign' }]);
  assert.equal((await request(station, 'DELETE', '/offer')).statusCode, 204);
  await forward(station, foreign);
  assert.equal(await forNewDevices(), 'Home', 'the answer was no');
  await forward(station, home);
  await forward(station, foreign);
  assert.equal((await request(station, 'POST')).statusCode, 202);
  assert.equal(await forNewDevices(), 'Foreign', 'the answer was yes');
});

test('a network that a person chose for new devices stays, with devices or without, and the other one is offered', async () => {
  await using running = await runBackend({ env });
  const station = await setUp(running);
  const own = { ssid: 'For devices', password: 'password of devices' };
  const other = { ssid: 'Of the station', password: 'password of the station' };
  const forNewDevices = () => newDevicesWifi(station);
  await running.http.inject({ method: 'PUT', url: '/api/settings/wifi', headers: station.headers, payload: own });
  await forward(station, other);
  assert.deepEqual([await forNewDevices(), (await view(station)).offer], [own.ssid, { ssid: other.ssid }]);
  await forward(station, { ...other, password: 'a newer password' });
  assert.equal(await forNewDevices(), own.ssid);
});

test('a change of very many devices stays below the limit of an answer, and counts all of them', async () => {
  await using running = await runBackend({ env });
  const station = await setUp(running);
  const { db } = running.backend;
  const id = randomUUIDv7();
  const change = { id, ssid: 'S', credentials: null, state: 'ended', started_by: null } as const;
  await db
    .insertInto('wifi_changes')
    .values({ ...change, started_at: 1, ended_at: 2 })
    .execute();
  const reason = 'The broker did not take the message. '.repeat(6);
  for (let n = 0; n < 1_100; n++) {
    const type = { externalId: `d${n}`, type: 'light', name: `Lamp ${n}`, zoneId: null };
    const device = newDeviceRow(type, `t${n}`, 1);
    await db.insertInto('devices').values(device).execute();
    const target = { change_id: id, device_id: device.id, state: 'not_told', told_at: null } as const;
    await db
      .insertInto('wifi_change_devices')
      .values({ ...target, reason, changed_at: 1 })
      .execute();
  }
  const response = await request(station, 'GET');
  const { change: shown } = response.json<DevicesWifi>();
  assert.ok(response.rawPayload.length <= maxAnswerBytes, String(response.rawPayload.length));
  assert.ok(shown !== null && shown.devices.length > 500);
  assert.equal(shown.counts.not_told, 1_100);
});
