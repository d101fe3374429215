import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectAsync, type MqttClient } from 'mqtt';
import type { Consumer, ConsumerKind, ConsumerLoginSheet } from '@station/protocol/consumers';
import { bearer, post, runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { addDevice, connectDevice, type TestDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

type House = { running: RunningBackend; token: string; address: string };

async function houseOf(running: RunningBackend): Promise<House> {
  return { running, token: (await running.setUp()).accessToken, address: running.backend.mqttAddress ?? '' };
}

const request = (
  { running, token }: House,
  method: 'GET' | 'PUT' | 'DELETE' | 'PATCH',
  url: string,
  payload?: object,
) => running.http.inject({ method, url, headers: bearer(token), ...(payload && { payload }) });

async function switchOn(house: House, kind: ConsumerKind, topic: string): Promise<ConsumerLoginSheet> {
  const answer = await request(house, 'PUT', `/api/consumers/${kind}`, { topic });
  assert.equal(answer.statusCode, 201, answer.body);
  return answer.json<ConsumerLoginSheet>();
}

/** A program at the broker that remembers the latest message of each topic. */
async function connect(house: House, { login, password }: ConsumerLoginSheet, filters: string[]) {
  const client: MqttClient = await connectAsync(
    house.address,
    { username: login, password, reconnectPeriod: 0 },
    false,
  );
  const seen = new Map<string, string>();
  client.on('message', (topic, payload) => seen.set(topic, payload.toString()));
  await client.subscribeAsync(filters, { qos: 1 });
  return { client, seen, [Symbol.asyncDispose]: () => client.endAsync(true) };
}

async function lampAt(house: House, name = 'lamp-1'): Promise<TestDevice & { id: string; stationId: string }> {
  const login = await addDevice(house.running.backend.db, name);
  const lamp = await connectDevice(house.address, login);
  await lamp.publish('handshake', { type: 'light', firmwareVersion: '1.2.3', chip: 'esp32' });
  await lamp.publish('state', { state: { on: false, brightness: 40 } });
  return Object.assign(lamp, { id: login.id, stationId: login.stationId });
}

const json = (text: string | undefined): Record<string, unknown> => JSON.parse(text ?? '{}') as Record<string, unknown>;

test('Home Assistant sees a lamp, switches it, and follows its name until it is removed', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  await using lamp = await lampAt(house);
  const sheet = await switchOn(house, 'home_assistant', 'homeassistant');
  assert.equal(sheet.isLoginMade, true);
  const { stationId } = lamp;
  const config = `homeassistant/device/station_${stationId}_${lamp.id}/config`;
  const root = `station-out/${stationId}`;
  await using assistant = await connect(house, sheet, ['homeassistant/#', `${root}/#`]);
  await until('the lamp is announced', () => assistant.seen.has(config));
  await until('its state', () => json(assistant.seen.get(`${root}/${lamp.id}/state`))['on'] === 'OFF');
  assert.deepEqual(json(assistant.seen.get(`${root}/${lamp.id}/state`)), { on: 'OFF', brightness: 40 });
  const shows = (topic: string, text: string) => until(topic, () => assistant.seen.get(topic) === text);
  await shows(`${root}/${lamp.id}/availability`, 'online');
  await shows(`${root}/status`, 'online');

  await assistant.client.publishAsync(`${root}/${lamp.id}/set/on`, 'ON', { qos: 1 });
  await until('the lamp is told', () => lamp.received.some(({ body }) => body['action'] === 'turn_on'));
  await lamp.publish('state', { state: { on: true } });
  await until('it is on', () => json(assistant.seen.get(`${root}/${lamp.id}/state`))['on'] === 'ON');
  const activity = async () => (await request(house, 'GET', '/api/activity')).body;
  await until('who did it is known', async () => (await activity()).includes('"name":"Home Assistant"'));

  await request(house, 'PATCH', `/api/devices/${lamp.id}`, { name: 'Hall' });
  await until('its new name', () => (assistant.seen.get(config) ?? '').includes('"name":"Hall"'));
  const [shown] = (await request(house, 'GET', '/api/consumers')).json<Consumer[]>();
  assert.deepEqual([shown?.isConnected, shown?.devices, shown?.leftOut], [true, 1, 0]);
  assert.notEqual(shown?.heardAt, null);

  await request(house, 'DELETE', `/api/devices/${lamp.id}`);
  await shows(config, '');
  await shows(`${root}/${lamp.id}/state`, '');
});

test('the login of a consumer is for its topics alone, and ends with the switch', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  await using lamp = await lampAt(house);
  const sheet = await switchOn(house, 'home_assistant', 'homeassistant');
  const { stationId } = lamp;
  await using assistant = await connect(house, sheet, ['homeassistant/#']);
  for (const filter of ['#', 'station/#', `station/${stationId}/device/+/command`, '+/#', 'station-out/#'])
    await assert.rejects(assistant.client.subscribeAsync(filter), filter);
  const stolen = `station/${stationId}/device/lamp-1/state`;
  await assistant.client.publishAsync(stolen, '{"state":{"brightness":7}}', { qos: 1 });
  await assistant.client.publishAsync('homeassistant/device/x/config', '{}', { qos: 1, retain: true });
  await lamp.publish('state', { state: { brightness: 41 } });
  const device = async () => (await request(house, 'GET', `/api/devices/${lamp.id}`)).json<{ state: object }>().state;
  await until('the honest state', async () => ((await device()) as Record<string, unknown>)['brightness'] === 41);

  const renewed = (
    await post(running, '/api/consumers/home_assistant/login', undefined, bearer(house.token))
  ).json<ConsumerLoginSheet>();
  await until('the connection of before ends', () => !assistant.client.connected);
  await assert.rejects(connect(house, sheet, []));
  await using again = await connect(house, renewed, ['homeassistant/#']);
  await until('the lamp', () => again.seen.size === 1);
  assert.equal((await request(house, 'DELETE', '/api/consumers/home_assistant')).statusCode, 204);
  await until('it ends', () => !again.client.connected);
  await assert.rejects(connect(house, renewed, []));
  assert.equal((await request(house, 'DELETE', '/api/consumers/home_assistant')).statusCode, 404);
});

test('a state that changes is one message, also with many devices', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  for (let at = 0; at < 60; at += 1) await addDevice(running.backend.db, `other-${at}`);
  await using lamp = await lampAt(house);
  const sheet = await switchOn(house, 'home_assistant', 'homeassistant');
  await using assistant = await connect(house, sheet, ['homeassistant/#', `station-out/${lamp.stationId}/#`]);
  await until('all', () => assistant.seen.size === 61 * 3 + 1);
  const received: string[] = [];
  assistant.client.on('message', (topic) => received.push(topic));
  for (const brightness of [1, 2, 3]) {
    await lamp.publish('state', { state: { brightness } });
    const state = `station-out/${lamp.stationId}/${lamp.id}/state`;
    await until('it', () => json(assistant.seen.get(state))['brightness'] === brightness);
    assert.deepEqual(received.splice(0), [state]);
  }
  // What is there already is told again to whoever asks for it.
  await assistant.client.publishAsync('homeassistant/status', 'online', { qos: 1 });
  await until('all, once more', () => received.length === 61 * 3 + 1);
});

test('no two systems have the same topics', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  const gateway = { name: 'Zigbee', dialect: 'zigbee2mqtt', baseTopic: 'zigbee2mqtt' };
  assert.equal((await post(running, '/api/gateways', gateway, bearer(house.token))).statusCode, 201);
  const on = (kind: ConsumerKind, topic: string) => request(house, 'PUT', `/api/consumers/${kind}`, { topic });
  assert.equal((await on('zigbee2mqtt', 'zigbee2mqtt')).statusCode, 409);
  assert.equal((await on('zigbee2mqtt', 'zigbee2mqtt/below')).statusCode, 409);
  for (const topic of ['station', 'station-out', 'a/+', '#', '$SYS', ''])
    assert.equal((await on('zigbee2mqtt', topic)).statusCode, 400, topic);
  assert.equal((await on('zigbee2mqtt', 'house')).statusCode, 201);
  assert.equal((await on('home_assistant', 'house')).statusCode, 409);
  const second = { ...gateway, baseTopic: 'house/attic' };
  assert.equal((await post(running, '/api/gateways', second, bearer(house.token))).statusCode, 409);
});

test('a program of Zigbee2MQTT’s dialect sees a lamp, switches it, and is refused what is not served', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  await using lamp = await lampAt(house);
  await request(house, 'PATCH', `/api/devices/${lamp.id}`, { name: 'Hall/1 +' });
  const sheet = await switchOn(house, 'zigbee2mqtt', 'zigbee2mqtt');
  await using program = await connect(house, sheet, ['zigbee2mqtt/#']);
  const kept = ['bridge/state', 'Hall_1 _', 'Hall_1 _/availability'].map((end) => `zigbee2mqtt/${end}`);
  await until('what is kept of it', () => kept.every((topic) => program.seen.has(topic)));
  assert.deepEqual(json(program.seen.get('zigbee2mqtt/Hall_1 _')), { state: 'OFF', brightness: 102 });
  assert.equal(program.seen.get('zigbee2mqtt/bridge/state'), '{"state":"online"}');
  assert.equal(program.seen.get('zigbee2mqtt/Hall_1 _/availability'), '{"state":"online"}');
  await program.client.publishAsync('zigbee2mqtt/Hall_1 _/set', '{"state":"ON","brightness":254}', { qos: 1 });
  await until('both commands', () => lamp.received.filter(({ topic }) => topic.endsWith('/command')).length === 2);
  assert.deepEqual(
    lamp.received.flatMap(({ body }) => (body['action'] === 'set_brightness' ? body['brightness'] : [])),
    [100],
  );
  await program.client.publishAsync('zigbee2mqtt/bridge/request/permit_join', '{"time":60,"transaction":7}');
  const response = 'zigbee2mqtt/bridge/response/permit_join';
  await until('an answer', () => program.seen.has(response));
  assert.deepEqual(
    [json(program.seen.get(response))['status'], json(program.seen.get(response))['transaction']],
    ['error', 7],
  );
});
