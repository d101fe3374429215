import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'node:test';
import { startForgetfulBroker } from '@station/backend/testing/forgetful-broker';
import { until } from '@station/backend/testing/until';
import { deviceTopic } from '@station/protocol/topics';
import { buildImage, checksumOfFile } from '../firmware/image-builder.ts';
import { memoryStore } from './flash.ts';
import { startVirtualDevice, type VirtualDeviceOptions } from './virtual-device.ts';

const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';
const login = { externalId: 'light-1', type: 'light', profile: 'field', name: 'Lamp', token: 't'.repeat(40) } as const;
const refusalRetryMs = 40;
const profile = { erasesItself: { afterRefusals: 3, refusalRetryMs } };

async function createScene(options: Partial<VirtualDeviceOptions> = {}) {
  await using starting = new AsyncDisposableStack();
  const broker = starting.use(await startForgetfulBroker(4));
  broker.acknowledges = false;
  const device = starting.use(
    startVirtualDevice({ url: broker.url, stationId, login, seed: 'a', profile, ...options }),
  );
  const received = (end: 'handshake' | 'event' | 'state') =>
    broker.received.filter(({ topic }) => topic === deviceTopic(stationId, login.externalId, end));
  const publish = (end: 'handshake/ack' | 'command', body: object): void =>
    broker.publish(deviceTopic(stationId, login.externalId, end), Buffer.from(JSON.stringify(body)), 1);
  await until('the handshake', () => received('handshake').length > 0);
  const all = starting.move();
  return { broker, device, received, publish, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

test('a device of the field publishes at QoS 0, and reports the state after a command but no acknowledgement', async () => {
  const executed: string[] = [];
  await using scene = await createScene({ onExecuted: (commandId) => executed.push(commandId) });
  const before = scene.received('state').length;
  scene.publish('command', { action: 'turn_on', commandId: 'c1' });
  await until('its state', () => scene.received('state').length > before);
  assert.deepEqual(scene.device.state['on'], true);
  assert.deepEqual(executed, ['c1']);
  assert.ok(scene.broker.received.every(({ qos }) => qos === 0));
  assert.equal(scene.received('event').length, 0);
});

test('a device of the field drops a packet that is larger than its buffer', async () => {
  await using scene = await createScene();
  scene.publish('command', { action: 'turn_on', commandId: 'c1', more: 'x'.repeat(950) });
  scene.publish('command', { action: 'reboot', commandId: 'c2' });
  await until('the restart', () => scene.device.counts.boots === 2);
  assert.equal(scene.device.counts.commands, 1);
  assert.equal(scene.device.state['on'], false);
});

test('a device of the field erases itself after three refusals in a row, and stays off after a restart', async () => {
  const flash = memoryStore();
  {
    await using scene = await createScene({ flash });
    const refuse = async (count: number): Promise<void> => {
      scene.publish('handshake/ack', { status: 'unknown_device' });
      await until('the refusal', () => scene.device.counts.refusals === count);
    };
    const handshakes = (count: number) => until('the handshake', () => scene.received('handshake').length === count);
    await refuse(1);
    await handshakes(2);
    scene.publish('handshake/ack', { status: 'ok' });
    await until('it is accepted', () => scene.device.isAccepted());
    await refuse(2);
    await handshakes(3);
    await refuse(3);
    await handshakes(4);
    assert.equal(scene.device.isErased(), false);
    await refuse(4);
    await until('it has erased itself', () => scene.device.isErased());
    assert.equal(scene.device.erasedBy(), 'unknown_device');
    await until('it is disconnected', () => !scene.device.client.connected);
  }
  await using broker = await startForgetfulBroker(4);
  await using again = startVirtualDevice({ url: broker.url, stationId, login, seed: 'a', flash });
  await delay(600);
  assert.equal(broker.connections, 0);
  assert.ok(again.isErased());
});

test('a device of the field erases itself at a factory reset; one of Station restarts', async () => {
  await using field = await createScene();
  field.publish('command', { action: 'factory_reset', commandId: 'c1' });
  await until('it has erased itself', () => field.device.erasedBy() === 'factory_reset');
  await using own = await createScene({ login: { ...login, profile: 'station' }, profile: {} });
  own.publish('command', { action: 'factory_reset', commandId: 'c1' });
  await until('it has restarted', () => own.device.counts.boots === 2);
  assert.equal(own.device.isErased(), false);
});

test('a device of the field waits long before it repeats a handshake; its type can be part of it', async () => {
  await using scene = await createScene({ profile: { handshakeRetryMs: 200 }, announcesType: true });
  await until('the second handshake', () => scene.received('handshake').length >= 2);
  const body = JSON.parse(String(scene.received('handshake')[1]?.payload)) as Record<string, unknown>;
  assert.equal(body['type'], 'light');
  assert.equal((body['capabilities'] as unknown[]).length, 2);
});

test('a device of the field asks for firmware at its start, installs it and reports how that ended', async () => {
  const version = '1.1.0';
  const image = buildImage({ project: 'light', version, bytes: 20_000 });
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const { url = '', headers, method } = request;
    const answer = { updateAvailable: !url.includes(`current_version=${version}`), version, downloadUrl: '/file' };
    const offer = { ...answer, firmwareId: 'f1', checksum: checksumOfFile(image), size: image.length };
    if (url === '/file') {
      response.end(image);
      return;
    }
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      requests.push(`${method} ${url} ${body} ${String(headers['x-device-token'] === login.token)}`);
      response.end(JSON.stringify(offer));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const httpUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await using scene = await createScene({ httpUrl });
    await until('the restart', () => scene.device.counts.boots === 2 && requests.length === 2);
    scene.publish('handshake/ack', { status: 'ok' });
    assert.equal(scene.device.firmwareVersion(), version);
    const query = 'device_id=light-1&device_type=light&chip=esp32&current_version=';
    const report = JSON.stringify({ deviceId: 'light-1', firmwareId: 'f1', status: 'success' });
    assert.deepEqual(requests, [`GET /api/ota/check?${query}1.0.0  true`, `POST /api/ota/report ${report} true`]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
