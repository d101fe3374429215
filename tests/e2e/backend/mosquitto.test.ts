import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import { deviceTopic } from '@station/protocol/topics';
import { readOrMakeLogins } from '@station/simulators/devices/devices-file';
import { startFleet } from '@station/simulators/devices/fleet';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { createMosquitto } from '../../rig/mosquitto.ts';
import { freePort } from '../../rig/ports.ts';
import { startDaemon, waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';

const main = join(import.meta.dirname, '../../../apps/backend/src/main.ts');
const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';
const killings = 3;

/** Backend, Mosquitto, and logins of devices that the backend makes at the broker. */
async function setUp(count: number) {
  await using starting = new AsyncDisposableStack();
  const workspace = starting.use(await createWorkspace());
  const mosquitto = await createMosquitto(workspace);
  const url = `mqtt://127.0.0.1:${mosquitto.port}`;
  const devicesFile = join(workspace.folder, 'devices.json');
  const logins = await readOrMakeLogins(devicesFile, count);
  const port = await freePort();
  const dataDir = join(workspace.folder, 'data');
  const env = {
    PORT: String(port),
    DATA_DIR: dataDir,
    STATION_ID: stationId,
    DEVICES_FILE: devicesFile,
    MQTT_URL: url,
    MQTT_USERNAME: 'backend',
    MQTT_PASSWORD: mosquitto.password,
  };
  const startBackend = async () => {
    const daemon = await startDaemon(process.execPath, [main], { logFile: join(workspace.folder, 'backend.log'), env });
    await waitFor('the backend to be well', async () => (await fetch(`http://127.0.0.1:${port}/api/health`)).ok);
    return daemon;
  };
  const query = <T>(sql: string): T[] => {
    using database = new DatabaseSync(join(dataDir, 'station.sqlite'), { readOnly: true });
    return database.prepare(sql).all() as T[];
  };
  const all = starting.move();
  return { mosquitto, url, logins, startBackend, query, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function logIn(url: string, { externalId: username, token: password }: DeviceLogin) {
  const device = await connectAsync(url, { username, password, reconnectPeriod: 0 }, false);
  return { device, [Symbol.asyncDispose]: () => device.endAsync(true) };
}

test('devices log in at Mosquitto with what the backend made for them, and reach their own topics alone', async () => {
  await using all = await setUp(8);
  await using backend = await all.startBackend();
  await using fleet = startFleet({ url: all.url, stationId, logins: all.logins });
  await waitFor('all devices to be known', () => fleet.known() === 8 || null);
  const [first, second] = all.logins;
  assert.ok(first && second);
  const wrong = { username: first.externalId, password: second.token, reconnectPeriod: 0 };
  await assert.rejects(connectAsync(all.url, wrong, false));
  await using connection = await logIn(all.url, first);
  const { device } = connection;
  await assert.rejects(device.subscribeAsync(`station/${stationId}/device/+/command`, { qos: 1 }));
  await assert.rejects(device.subscribeAsync('#', { qos: 1 }));
  const foreign = deviceTopic(stationId, second.externalId, 'event');
  await device.publishAsync(foreign, '{"event":"device_event","data":{"action":"forged"}}', { qos: 1 });
  const own = deviceTopic(stationId, first.externalId, 'event');
  await device.publishAsync(own, '{"event":"device_event","data":{"action":"own"}}', { qos: 1 });
  await waitFor('its own to be written', () => count(all.query, 'own') === 1 || null);
  assert.equal(count(all.query, 'forged'), 0);
  assert.ok(backend.running());
});

const count = (query: <T>(sql: string) => T[], action: string): number =>
  query<{ n: number }>(`select count(*) as n from device_events where data like '%"${action}"%'`)[0]?.n ?? -1;

test('what Mosquitto took is not lost when the backend is killed, again and again, nor what came while it was away', async () => {
  await using all = await setUp(1);
  const [login] = all.logins;
  assert.ok(login);
  let backend = await all.startBackend();
  await waitFor('the login to be made', async () => {
    await using _attempt = await logIn(all.url, login);
    return true;
  });
  await using connection = await logIn(all.url, login);
  const { device } = connection;
  const topic = deviceTopic(stationId, login.externalId, 'event');
  let said = 0;
  const say = async (times: number): Promise<void> => {
    const one = (): Promise<unknown> =>
      device.publishAsync(topic, JSON.stringify({ event: 'device_event', data: { action: 'counted', n: said++ } }), {
        qos: 1,
      });
    await Promise.all(Array.from({ length: times }, one));
  };
  for (let killing = 0; killing < killings; killing++) {
    const saying = say(2_000);
    await sleep(50);
    backend.kill('SIGKILL');
    await backend.ended;
    await saying;
    await say(500);
    backend = await all.startBackend();
  }
  await using _last = backend;
  const kept = (): number => {
    const rows = all.query<{ data: string }>('select data from device_events');
    return new Set(rows.map(({ data }) => (JSON.parse(data) as { n: number }).n)).size;
  };
  assert.equal(said, killings * 2_500);
  await waitFor('everything to be written', () => kept() === said || null);
});

test('a restart of Mosquitto or of the backend shows no device as offline', async () => {
  await using all = await setUp(20);
  let backend = await all.startBackend();
  await using fleet = startFleet({ url: all.url, stationId, logins: all.logins, heartbeatMs: 1_000 });
  await waitFor('all devices to be known', () => fleet.known() === 20 || null);
  const offline = (): number =>
    all.query<{ n: number }>(`select count(*) as n from devices where status <> 'online'`)[0]?.n ?? -1;
  await waitFor('all devices to be online', () => offline() === 0 || null);
  let seen = 0;
  const watching = setInterval(() => (seen = Math.max(seen, offline())), 100);
  try {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await all.mosquitto.stop(signal);
      await sleep(4_000);
      await all.mosquitto.start();
      await waitFor('all devices to be back', () => fleet.known() === 20 || null);
      backend.kill(signal);
      await backend.ended;
      backend = await all.startBackend();
      // Longer than the grace of a last will.
      await sleep(5_000);
    }
  } finally {
    clearInterval(watching);
  }
  await using _last = backend;
  assert.equal(seen, 0);
});
