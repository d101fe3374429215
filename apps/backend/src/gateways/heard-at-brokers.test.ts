import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { Aedes } from 'aedes';
import { connectAsync, type IClientOptions } from 'mqtt';
import type { GatewayLoginSheet, HeardSystem } from '@station/protocol/gateways';
import { bearer, post, runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { startZigbee2Mqtt } from '../../testing/simulated-zigbee2mqtt.ts';
import { addDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

const zigbee = { name: 'Zigbee', dialect: 'zigbee2mqtt', baseTopic: 'zigbee2mqtt' } as const;

async function houseOf(running: RunningBackend) {
  const headers = bearer((await running.setUp()).accessToken);
  return {
    heard: async () => (await running.http.inject({ url: '/api/gateways/heard', headers })).json<HeardSystem[]>(),
    beZigbee2Mqtt: async () => {
      const url = '/api/consumers/zigbee2mqtt';
      return (await running.http.inject({ method: 'PUT', url, headers, payload: { topic: 'zigbee2mqtt' } })).statusCode;
    },
    connect: async () => (await post(running, '/api/gateways', zigbee, headers)).json<GatewayLoginSheet>(),
  };
}

const withWill = (topic: string): IClientOptions => ({
  will: { topic, payload: Buffer.from('offline'), qos: 1, retain: true },
  reconnectPeriod: 0,
});

test('who is refused at the embedded broker is suggested by its last will, until its login is made', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  const address = running.backend.mqttAddress ?? '';
  const refused = (options: IClientOptions) => assert.rejects(connectAsync(address, options, false));
  assert.deepEqual(await house.heard(), []);
  await refused(withWill('zigbee2mqtt/bridge/state'));
  await refused({ ...withWill('tele/tasmota_1/LWT'), username: 'tasmota', password: 'secret' });
  await refused({ ...withWill('zigbee2mqtt/bridge/state'), username: 'mqtt', password: 'secret' });
  await refused({ reconnectPeriod: 0, username: 'shelly/boiler/online' });
  const found = await house.heard();
  assert.deepEqual(
    found.map(({ seenAt: _seenAt, ...rest }) => rest),
    [
      { dialect: 'tasmota', baseTopic: 'tasmota', topic: 'tele/tasmota_1/LWT', how: 'refused' },
      { dialect: 'zigbee2mqtt', baseTopic: 'zigbee2mqtt', topic: 'zigbee2mqtt/bridge/state', how: 'refused' },
    ],
  );
  assert.ok(!JSON.stringify(found).includes('secret'));
  const { login, password } = await house.connect();
  // It still has the login of before.
  await refused({ ...withWill('zigbee2mqtt/bridge/state'), username: 'mqtt', password: 'secret' });
  assert.deepEqual(
    (await house.heard()).map(({ dialect }) => dialect),
    ['tasmota'],
  );
  await using _bridge = await startZigbee2Mqtt(address, { username: login, password }, []);
});

test('a will of who may log in, and one with a wrong version of MQTT, suggest nothing', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  const address = running.backend.mqttAddress ?? '';
  const { externalId: username, token: password } = await addDevice(running.backend.db, 'lamp-1');
  const client = await connectAsync(address, { ...withWill('kitchen/status'), username, password });
  await client.endAsync();
  await assert.rejects(connectAsync(address, { ...withWill('kitchen/status'), protocolVersion: 5 }, false));
  assert.deepEqual(await house.heard(), []);
});

test('where the station itself publishes as a Zigbee2MQTT, none is suggested', async () => {
  await using running = await runBackend();
  const house = await houseOf(running);
  assert.equal(await house.beZigbee2Mqtt(), 201);
  const address = running.backend.mqttAddress ?? '';
  await assert.rejects(connectAsync(address, withWill('zigbee2mqtt/bridge/state'), false));
  await assert.rejects(connectAsync(address, withWill('zigbee/bridge/state'), false));
  assert.deepEqual(
    (await house.heard()).map(({ baseTopic }) => baseTopic),
    ['zigbee'],
  );
});

test('at a broker whose logins another system makes, what says there that it is online is suggested', async () => {
  await using brokers = new AsyncDisposableStack();
  const broker = await Aedes.createBroker();
  brokers.defer(() => new Promise<void>((resolve) => broker.close(resolve)));
  const server = createServer((socket) => void broker.handle(socket));
  broker.on('connectionError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  brokers.defer(() => void server.close());
  const url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using _bridge = await startZigbee2Mqtt(url, { username: 'mine', password: 'x' }, []);
  await using _other = await startZigbee2Mqtt(url, { base: 'home/attic', username: 'mine', password: 'x' }, []);
  await using running = await runBackend({ env: { MQTT_URL: url } });
  const house = await houseOf(running);
  await until('the suggestion', async () => (await house.heard()).length > 0);
  const [found, ...more] = await house.heard();
  assert.deepEqual([found?.dialect, found?.baseTopic, found?.how], ['zigbee2mqtt', 'zigbee2mqtt', 'published']);
  assert.deepEqual(more, [], 'where nobody looks, nothing is heard');
  const sheet = await house.connect();
  assert.equal(sheet.isLoginMade, false);
  assert.deepEqual(await house.heard(), []);
  assert.deepEqual(running.logger.events('unexpected_error'), []);
});
