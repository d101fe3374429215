import assert from 'node:assert/strict';
import { connect as connectSocket } from 'node:net';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import { deviceTopic } from '@station/protocol/topics';
import { willGraceMs } from './availability-decide.ts';
import { readMetrics, runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { addDevice, connectDevice, type DeviceLogin, type TestDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

const addressOf = ({ backend }: RunningBackend): string => backend.mqttAddress ?? '';
const rowOf = async ({ backend }: RunningBackend, { id }: DeviceLogin) => {
  await backend.settle();
  return backend.db.selectFrom('devices').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
};
const closingOf = ({ client }: TestDevice): Promise<void> => new Promise((resolve) => client.once('close', resolve));

test('the life of a device: handshake, heartbeat, state, event; acknowledged means on disk', async () => {
  await using running = await runBackend();
  const login = await addDevice(running.backend.db, 'lamp-1');
  await using lamp = await connectDevice(addressOf(running), login);
  await lamp.publish('handshake', { type: 'light', firmwareVersion: '1.2.3', chip: 'esp32', kit_tag: 'k7', extra: 1 });
  const shaken = await rowOf(running, login);
  assert.deepEqual(
    [shaken.firmware_version, shaken.chip, shaken.kit_tag, shaken.status],
    ['1.2.3', 'esp32', 'k7', 'online'],
  );
  await until('the handshake is answered', () => lamp.received.length > 0);
  assert.deepEqual(lamp.received[0], {
    topic: deviceTopic(login.stationId, 'lamp-1', 'handshake/ack'),
    body: { status: 'ok' },
  });
  await lamp.publish('heartbeat', { status: 'online' });
  await lamp.publish('state', { state: { power: true, brightness: 40 } });
  await lamp.publish('event', { event: 'user_event', data: { action: 'button_pressed' } });
  assert.deepEqual(JSON.parse((await rowOf(running, login)).state), { power: true, brightness: 40 });
  const events = await running.backend.db.selectFrom('device_events').select(['kind', 'data']).execute();
  assert.deepEqual(
    events.map(({ kind, data }) => [kind, JSON.parse(data)]),
    [['user_event', { action: 'button_pressed' }]],
  );
  const health = await running.http.inject('/api/health');
  assert.equal(health.json<{ checks: { mqtt: boolean } }>().checks.mqtt, true);
});

test('a wrong login is refused: no name, an unknown device, the token of another device', async () => {
  await using running = await runBackend();
  const lamp = await addDevice(running.backend.db, 'lamp-1');
  const other = await addDevice(running.backend.db, 'lamp-2');
  for (const options of [
    {},
    { username: 'lamp-1' },
    { username: 'lamp-1', password: '' },
    { username: 'lamp-1', password: other.token },
    { username: 'lamp-9', password: lamp.token },
    { username: lamp.id, password: lamp.token },
  ]) {
    const attempt = connectAsync(addressOf(running), { reconnectPeriod: 0, ...options }, false);
    await assert.rejects(attempt, /Not authorized|Bad username or password|Connection refused|closed/i);
  }
  assert.ok(running.logger.events('mqtt_login_refused').length > 0);
  assert.ok(running.logger.lines.every((line) => !line.includes(lamp.token)));
});

test('a device reads and writes only its own topics; its session cannot be taken over by its client id', async () => {
  await using running = await runBackend();
  const mine = await addDevice(running.backend.db, 'lamp-1');
  const theirs = await addDevice(running.backend.db, 'lamp-2');
  const station = mine.stationId;
  await using victim = await connectDevice(addressOf(running), theirs, { clientId: 'the-victim' });
  await using lamp = await connectDevice(addressOf(running), mine, { clientId: 'the-victim' });
  for (const topic of [
    '#',
    `station/${station}/device/+/command`,
    deviceTopic(station, 'lamp-2', 'command'),
    '$SYS/#',
  ]) {
    await assert.rejects(lamp.client.subscribeAsync(topic), /Unspecified error|refused|128/i, topic);
  }
  await lamp.client.publishAsync(deviceTopic(station, 'lamp-2', 'state'), '{"state":{"power":true}}', { qos: 1 });
  const command = deviceTopic(station, 'lamp-2', 'command');
  await lamp.client.publishAsync(command, '{"action":"factory_reset","commandId":"x"}', { qos: 1 });
  // It is still served, and the other one receives only what comes after that.
  await lamp.publish('state', { state: { power: false } });
  await victim.publish('handshake', { type: 'light', firmwareVersion: '1', chip: 'c' });
  await until('the other is answered', () => victim.received.length > 0);
  assert.deepEqual(
    victim.received.map(({ topic }) => topic),
    [deviceTopic(station, 'lamp-2', 'handshake/ack')],
  );
  assert.equal((await rowOf(running, theirs)).state, '{}');
  assert.ok(victim.client.connected && lamp.client.connected);
});

test('invalid messages are counted, logged once, and dropped; the bridge goes on', async () => {
  await using running = await runBackend();
  const login = await addDevice(running.backend.db, 'lamp-1');
  await using lamp = await connectDevice(addressOf(running), login);
  const bad = [
    ' ',
    'no json',
    '[]',
    'null',
    '{"state":5}',
    Buffer.from([0xff, 0xfe, 0x00]),
    `${'['.repeat(100_000)}`,
    '{"state":{"a\\u0000":1}}',
  ];
  for (const payload of bad) await lamp.publish('state', Buffer.from(payload));
  await lamp.publish('state', Buffer.alloc(256 * 1024 + 1, 0x20));
  const elsewhere = deviceTopic('00000000-0000-4000-8000-000000000000', 'lamp-1', 'state');
  await lamp.client.publishAsync(elsewhere, '{"state":{"power":true}}', { qos: 1 });
  await lamp.client.publishAsync(`station/${login.stationId}/device/lamp-1/other`, '{}', { qos: 1 });
  await lamp.publish('state', { state: { power: false } });
  assert.equal((await rowOf(running, login)).state, '{"power":false}');
  const logged = running.logger.events('mqtt_message_dropped').map(({ reason }) => reason);
  assert.deepEqual(logged, ['bad_shape', 'bad_encoding', 'bad_key', 'too_large', 'foreign_station', 'bad_topic']);
  const metrics = await readMetrics(running);
  assert.match(metrics, /^station_mqtt_dropped_messages_total{reason="bad_shape"} 6$/m);
  assert.match(metrics, /^station_mqtt_dropped_messages_total{reason="bad_encoding"} 1$/m);
  assert.match(metrics, /^station_mqtt_dropped_messages_total{reason="bad_key"} 1$/m);
});

test('a packet far over the limit ends the connection while it arrives, also before a login', async () => {
  await using running = await runBackend();
  const login = await addDevice(running.backend.db, 'lamp-1');
  await using lamp = await connectDevice(addressOf(running), login);
  const closed = closingOf(lamp);
  lamp.client.publish(deviceTopic(login.stationId, 'lamp-1', 'state'), Buffer.alloc(2_000_000), { qos: 1 });
  await closed;
  const { hostname, port } = new URL(addressOf(running));
  const socket = connectSocket(Number(port), hostname);
  socket.on('error', () => undefined);
  const ended = new Promise((resolve) => socket.once('close', resolve));
  // A CONNECT that announces 256 MiB.
  socket.write(Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f]));
  socket.write(Buffer.alloc(1_000_000));
  await ended;
  await using again = await connectDevice(addressOf(running), login);
  await again.publish('state', { state: { power: true } });
  assert.equal(running.logger.events('mqtt_message_dropped')[0]?.['reason'], 'too_large');
});

test('a device whose login ended is disconnected, and its login is refused', async () => {
  await using running = await runBackend();
  const login = await addDevice(running.backend.db, 'lamp-1');
  await using lamp = await connectDevice(addressOf(running), login);
  await lamp.publish('heartbeat', { status: 'online' });
  const closed = closingOf(lamp);
  await running.backend.db.deleteFrom('devices').execute();
  running.backend.deviceEvents.emit({ kind: 'login_ended', deviceId: login.id, externalId: 'lamp-1' });
  await closed;
  await assert.rejects(connectDevice(addressOf(running), login));
});

test('the last will of an older connection says nothing while the device has a newer one', async () => {
  await using running = await runBackend();
  const login = await addDevice(running.backend.db, 'lamp-1');
  await using first = await connectDevice(addressOf(running), login, { clientId: 'esp-1' });
  await using second = await connectDevice(addressOf(running), login, { clientId: 'esp-2' });
  await second.publish('heartbeat', { status: 'online' });
  first.client.stream.destroy();
  await new Promise((resolve) => setTimeout(resolve, willGraceMs + 2000));
  assert.equal((await rowOf(running, login)).status, 'online');
  second.client.stream.destroy();
  await until('the last connection to count', async () => (await rowOf(running, login)).status === 'offline');
});
