import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import { test } from 'node:test';
import { connectAsync, type IClientOptions } from 'mqtt';
import { runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { addDevice, connectDevice, type DeviceLogin } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

const addressOf = ({ backend }: RunningBackend): string => backend.mqttAddress ?? '';

const mqtt31 = { protocolId: 'MQIsdp', protocolVersion: 3 } as const;

function openSocket(running: RunningBackend): Socket {
  const { hostname, port } = new URL(addressOf(running));
  return connectSocket(Number(port), hostname)
    .on('error', () => undefined)
    .resume();
}

const refuses = (running: RunningBackend, { externalId, token }: DeviceLogin, options: IClientOptions) =>
  assert.rejects(
    connectAsync(
      addressOf(running),
      { username: externalId, password: token, reconnectPeriod: 0, connectTimeout: 60_000, ...options },
      false,
    ),
  );

const lengthFirst = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([0, bytes.length]), bytes]);
};

/** CONNECT of MQTT 3.1.1 (section 3.1), also such that no library sends. */
function connectPacket(options: { externalId?: string; token?: string; clientId: string; isClean: boolean }): Buffer {
  const { externalId, token = '', clientId, isClean } = options;
  const isNamed = externalId !== undefined;
  const flags = (isClean ? 0x02 : 0) | (isNamed ? 0xc0 : 0);
  const login = isNamed ? [lengthFirst(externalId), lengthFirst(token)] : [];
  const rest = Buffer.concat([lengthFirst('MQTT'), Buffer.from([4, flags, 0, 60]), lengthFirst(clientId), ...login]);
  return Buffer.concat([Buffer.from([0x10, rest.length]), rest]);
}

/** Return codes of CONNACK (section 3.2.2.3). */
const badClientId = 2;
const badLogin = 4;

async function codeFor(running: RunningBackend, packet: Buffer): Promise<number | undefined> {
  const socket = openSocket(running);
  const answered = once(socket, 'data');
  socket.write(packet);
  const [answer] = (await answered) as [Buffer];
  socket.destroy();
  return answer[3];
}

/** Without what helps, which is for people. */
const refusedIn = ({ logger }: RunningBackend) =>
  logger
    .events('mqtt_connection_refused')
    .map(({ reason, login, clientId, protocol, address }) => [reason, login, clientId, protocol, address]);

test('clients of MQTT 3.1 log in with ids of any length, and receive commands', async () => {
  await using running = await runBackend();
  const login = await addDevice(running.backend.db, 'a-device-with-a-long-name');
  for (const clientId of ['ESP8266Client-0A1B2C3D4', 'a', 'x'.repeat(100)]) {
    await using lamp = await connectDevice(addressOf(running), login, { ...mqtt31, clientId });
    await lamp.publish('handshake', { type: 'light', firmwareVersion: '1.2.3', chip: 'esp8266' });
    await until('the answer', () => lamp.received.length === 1);
  }
  assert.deepEqual(refusedIn(running), []);
});

test('two clients without an id are two clients', async () => {
  await using running = await runBackend();
  const login = await addDevice(running.backend.db, 'lamp-1');
  await using first = await connectDevice(addressOf(running), login, { clientId: '', clean: true });
  await using second = await connectDevice(addressOf(running), login, { clientId: '', clean: true });
  await second.publish('heartbeat', { status: 'online' });
  await first.publish('heartbeat', { status: 'online' });
  assert.ok(first.client.connected && second.client.connected);
});

test('the log says which client is refused, why, and what helps', async () => {
  await using running = await runBackend();
  const login = await addDevice(running.backend.db, 'lamp-1');
  const silent = openSocket(running);
  await once(silent, 'connect');
  await refuses(running, login, { protocolVersion: 5, clientId: 'esp32-5' });
  assert.equal(await codeFor(running, connectPacket({ ...login, clientId: '', isClean: false })), badClientId);
  for (const bytes of ['GET / HTTP/1.1\r\nHost: station\r\n\r\n', Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3])]) {
    const other = openSocket(running);
    other.write(bytes);
    await once(other, 'close');
  }
  const large = openSocket(running);
  large.write(Buffer.concat([Buffer.from([0x10, 0xc0, 0x3e]), Buffer.alloc(7_999)]));
  await once(large, 'close');
  await once(silent, 'close');
  const from = '127.0.0.1';
  assert.deepEqual(refusedIn(running), [
    ['protocol_version', 'lamp-1', 'esp32-5', 'MQTT 5', from],
    ['client_id', 'lamp-1', '', 'MQTT 3.1.1', from],
    ['unreadable', null, null, null, from],
    ['too_large', null, null, null, from],
    ['timeout', null, null, null, from],
  ]);
  const helps = running.logger.events('mqtt_connection_refused').map(({ help }) => help);
  assert.ok(helps.every((help) => typeof help === 'string' && help.length > 20));
});

test('the log says what is wrong with a log-in, and never shows a token', async () => {
  await using running = await runBackend();
  const lamp = await addDevice(running.backend.db, 'lamp-1');
  const other = await addDevice(running.backend.db, 'lamp-2');
  await refuses(running, lamp, { clientId: 'a', password: other.token });
  await refuses(running, lamp, { clientId: 'b', username: 'lamp-9' });
  // A sketch that confuses user name, password and client id.
  await refuses(running, lamp, { clientId: lamp.token, username: lamp.token, password: 'lamp-1' });
  assert.equal(await codeFor(running, connectPacket({ clientId: 'c', isClean: true })), badLogin);
  const length = lamp.token.length;
  const hidden = `${lamp.token.slice(0, 8)}… (${length} characters)`;
  assert.deepEqual(
    running.logger
      .events('mqtt_login_refused')
      .map(({ reason, externalId, clientId, protocol }) => [reason, externalId, clientId, protocol]),
    [
      ['wrong_password', 'lamp-1', 'a', 'MQTT 3.1.1'],
      ['unknown_name', 'lamp-9', 'b', 'MQTT 3.1.1'],
      ['unknown_name', hidden, hidden, 'MQTT 3.1.1'],
      ['no_login', '', 'c', 'MQTT 3.1.1'],
    ],
  );
  assert.ok(running.logger.lines.every((line) => !line.includes(lamp.token) && !line.includes(other.token)));
});
