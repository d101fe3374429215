import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NumberHistory } from '@station/protocol/device-history';
import type { Device } from '@station/protocol/devices';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { postgresDatabase, postgresUrl } from '../../testing/test-postgres.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { addDevice, connectDevice, type DeviceLogin } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

type Running = Awaited<ReturnType<typeof runBackend>>;

async function withDevice() {
  const running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  const login = await addDevice(running.backend.db, 'lamp-1', 'climate');
  const device = await connectDevice(running.backend.mqttAddress ?? '', login);
  const send = async (end: 'state' | 'event' | 'heartbeat', payload: string | Buffer): Promise<void> => {
    await device.publish(end, Buffer.from(payload));
    // Of two values in one millisecond the history keeps the later one.
    const sentAt = Date.now();
    while (Date.now() === sentAt) await sleep(1);
  };
  const shown = () => deviceOf(running, headers, login);
  const dispose = async (): Promise<void> => {
    await device[Symbol.asyncDispose]();
    await running[Symbol.asyncDispose]();
  };
  return { running, headers, login, send, shown, [Symbol.asyncDispose]: dispose };
}

async function deviceOf({ http }: Running, headers: Record<string, string>, { id }: DeviceLogin): Promise<Device> {
  return (await http.inject({ url: `/api/devices/${id}`, headers })).json<Device>();
}

test('an event of more than 4 KiB costs only itself, and more than 256 values only those that do not fit', async () => {
  await using all = await withDevice();
  const event = (length: number) =>
    JSON.stringify({ event: 'device_event', data: { action: 'a', text: 'x'.repeat(length) } });
  const most = 4 * 1024 - '{"action":"a","text":""}'.length;
  await all.send('event', event(most));
  await all.send('event', event(most + 1));
  await all.send('state', '{"state":{"temperature":20}}');
  const faulty = await all.shown();
  assert.deepEqual(
    [faulty.fault?.code, faulty.fault?.count, faulty.state],
    ['event_too_large', 1, { temperature: 20 }],
  );
  const stored = await all.running.backend.db.selectFrom('device_events').select('data').execute();
  assert.deepEqual(
    stored.map(({ data }) => (JSON.parse(data) as { text: string }).text.length),
    [most],
  );
  await all.send('event', event(0));
  assert.equal((await all.shown()).fault, null);
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`n${n}`, n]));
  await all.send('state', JSON.stringify({ state: many }));
  await until('the fault', async () => (await all.shown()).fault?.code === 'state_full');
  assert.equal(Object.keys((await all.shown()).state).length, 256);
  await all.send('state', '{"state":{"temperature":21}}');
  await until('the end of the fault', async () => (await all.shown()).fault === null);
  assert.equal((await all.shown()).state['temperature'], 21);
});

test('a bad value costs its key alone; the device shows the fault until a good state comes', async () => {
  await using all = await withDevice();
  await all.send('state', '{"state":{"temperature":20,"humidity":40}}');
  await all.send('state', '{"state":{"temperature":NaN,"humidity":41,"serial":9007199254740993}}');
  await all.send('state', '{"state":{"temperature":1e999,"humidity":42}}');
  const faulty = await all.shown();
  assert.deepEqual(faulty.state, { temperature: 20, humidity: 42, serial: '9007199254740993' });
  assert.deepEqual([faulty.fault?.code, faulty.fault?.count], ['bad_value', 2]);
  assert.deepEqual(Object.keys(faulty.stateTimes), ['temperature', 'serial']);
  assert.ok(faulty.stateTimes['temperature']! < faulty.stateTimes['serial']!);
  assert.ok(faulty.stateTimes['serial']! < (faulty.stateAt ?? ''));
  await all.send('heartbeat', '{"status":"online"}');
  assert.notEqual((await all.shown()).fault, null);
  await all.send('state', '{"state":{"temperature":21,"humidity":42,"serial":7}}');
  const good = await all.shown();
  assert.deepEqual([good.fault, good.stateTimes], [null, {}]);
  const query = 'capability=temperature&from=2020-01-01T00:00:00.000Z';
  const history = await all.running.http.inject({
    url: `/api/devices/${all.login.id}/history?${query}`,
    headers: all.headers,
  });
  const { points } = history.json<NumberHistory>();
  assert.deepEqual(
    [Math.min(...points.map(({ lowest }) => lowest)), Math.max(...points.map(({ highest }) => highest))],
    [20, 21],
  );
});

test('numbers and switches sent as text count in state, history and automations', async () => {
  await using all = await withDevice();
  const { http } = all.running;
  const { headers } = all;
  const trigger = { deviceId: all.login.id, capability: 'temperature', operator: 'gt', value: 25 };
  const flow = {
    nodes: [
      { id: 't', type: 'trigger', data: { kind: 'device_state_changed', config: trigger } },
      { id: 'a', type: 'action', data: { kind: 'notify', config: { message: 'Too warm' } } },
    ],
    edges: [{ id: 'e', source: 't', target: 'a' }],
  };
  const made = await http.inject({ method: 'POST', url: '/api/automations', headers, payload: { name: 'Warm', flow } });
  const { id } = made.json<{ id: string }>();
  await http.inject({ method: 'POST', url: `/api/automations/${id}/publish`, headers });
  const runs = async (): Promise<number> =>
    (await http.inject({ url: `/api/automations/${id}/runs`, headers })).json<unknown[]>().length;
  await all.send('state', '{"state":{"temperature":"21.5"}}');
  await all.send('state', '{"state":{"temperature":" 26.5 "}}');
  await until('the run', async () => (await runs()) === 1);
  await all.send('state', '{"state":{"temperature":"2.0e1"}}');
  await all.send('state', '{"state":{"temperature":"27,5"}}');
  await until('the second run', async () => (await runs()) === 2);
  const { state, fault } = await all.shown();
  assert.deepEqual([state, fault], [{ temperature: 27.5 }, null]);
  const query = 'capability=temperature&from=2020-01-01T00:00:00.000Z';
  const history = await http.inject({ url: `/api/devices/${all.login.id}/history?${query}`, headers });
  const { kind, points } = history.json<NumberHistory>();
  const sum = { count: 0, lowest: Infinity, highest: -Infinity };
  for (const { count, lowest, highest } of points) {
    sum.count += count;
    sum.lowest = Math.min(sum.lowest, lowest);
    sum.highest = Math.max(sum.highest, highest);
  }
  assert.deepEqual([kind, sum], ['number', { count: 4, lowest: 20, highest: 27.5 }]);
});

test('what is not of its declared kind is left out, and the device shows it until a good state comes', async () => {
  await using all = await withDevice();
  await all.send('state', '{"state":{"temperature":20,"humidity":40}}');
  const odd = ['"unavailable"', '"nan"', '""', '"0x1F"', '"1,234"', 'true', '{"value":21}', '9007199254740993'];
  for (const value of odd) await all.send('state', `{"state":{"temperature":${value},"humidity":"41"}}`);
  const faulty = await all.shown();
  assert.deepEqual(faulty.state, { temperature: 20, humidity: 41 });
  assert.deepEqual([faulty.fault?.code, faulty.fault?.count], ['wrong_kind', odd.length]);
  const reasons = all.running.logger.events('mqtt_message_dropped').map(({ reason }) => reason);
  assert.deepEqual(reasons, ['wrong_kind']);
  await all.send('state', '{"state":{"temperature":null,"humidity":41}}');
  assert.equal((await all.shown()).fault, null);
});

test('a device that describes itself is read by that from its first state on', async () => {
  await using running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  const login = await addDevice(running.backend.db, 'tank-1', 'tank');
  await using device = await connectDevice(running.backend.mqttAddress ?? '', login);
  const capabilities = [
    { key: 'level', kind: 'number' },
    { key: 'pump', kind: 'boolean' },
  ];
  const handshake = device.publish('handshake', {
    type: 'tank',
    firmwareVersion: '1.0.0',
    chip: 'esp32',
    capabilities,
  });
  const state = device.publish('state', { state: { level: '12.5', pump: 'ON', note: '7' } });
  await Promise.all([handshake, state]);
  const shown = await deviceOf(running, headers, login);
  assert.deepEqual([shown.state, shown.fault], [{ level: 12.5, pump: true, note: '7' }, null]);
});

test('a device that sends only nonsense is connected and faulty, and says so in the log by reason and device', async () => {
  await using all = await withDevice();
  assert.equal((await all.shown()).status, 'unknown');
  for (const payload of ['nonsense', '[]', Buffer.from([0xff])]) await all.send('state', payload);
  const { status, state, stateAt, fault, lastSeenAt } = await all.shown();
  assert.deepEqual([status, state, stateAt], ['online', {}, null]);
  assert.deepEqual([fault?.code, fault?.count, fault?.at], ['bad_encoding', 1, lastSeenAt]);
  const other = await addDevice(all.running.backend.db, 'lamp-2');
  await using second = await connectDevice(all.running.backend.mqttAddress ?? '', other);
  await second.publish('event', Buffer.from('nonsense'));
  const topic = (device: string, end: string): string => `station/${other.stationId}/device/${device}/${end}`;
  assert.deepEqual(
    all.running.logger.events('mqtt_message_dropped').map((event) => [event['reason'], event['topic']]),
    [
      ['bad_shape', topic('lamp-1', 'state')],
      ['bad_encoding', topic('lamp-1', 'state')],
      ['bad_shape', topic('lamp-2', 'event')],
    ],
  );
});

test('an empty message, which removes a retained one, is no message of a device', async () => {
  await using all = await withDevice();
  await using device = await connectDevice(all.running.backend.mqttAddress ?? '', all.login);
  const topic = `station/${all.login.stationId}/device/lamp-1/state`;
  const retained = (payload: string) => device.client.publishAsync(topic, payload, { qos: 1, retain: true });
  await retained('');
  assert.deepEqual([(await all.shown()).status, (await all.shown()).fault], ['unknown', null]);
  await retained('{"state":{"temperature":20}}');
  await retained('');
  const { state, fault } = await all.shown();
  assert.deepEqual([state, fault], [{ temperature: 20 }, null]);
  assert.deepEqual(all.running.logger.events('mqtt_message_dropped'), []);
});

test('fault and ages are there after a restart, and the next good state ends them', async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  // Created here and not by a backend, because it must outlive the first one.
  await using _database = postgresUrl === null ? null : await postgresDatabase(postgresUrl, dataDir);
  const { headers, login, before } = await (async () => {
    await using first = await runBackend({ dataDir });
    const headers = bearer((await first.setUp()).accessToken);
    const login = await addDevice(first.backend.db, 'lamp-1');
    await using device = await connectDevice(first.backend.mqttAddress ?? '', login);
    await device.publish('state', { state: { power: true, brightness: 10 } });
    await device.publish('state', Buffer.from('{"state":{"power":false,"brightness":NaN}}'));
    return { headers, login, before: await deviceOf(first, headers, login) };
  })();
  await using second = await runBackend({ dataDir });
  const after = await deviceOf(second, headers, login);
  assert.deepEqual([after.fault, after.stateTimes], [before.fault, before.stateTimes]);
  assert.deepEqual([after.fault?.code, Object.keys(after.stateTimes)], ['bad_value', ['brightness']]);
  await using device = await connectDevice(second.backend.mqttAddress ?? '', login);
  await device.publish('state', { state: { power: false, brightness: 20 } });
  const good = await deviceOf(second, headers, login);
  assert.deepEqual([good.fault, good.stateTimes], [null, {}]);
});
