import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '@station/backend/testing/until';
import { Aedes, type AuthenticateHandler } from 'aedes';
import { createConnection } from './device-connection.ts';
import { profiles } from './profiles.ts';

const reconnectMs = 20;

/** A broker whose answers to CONNECT the test gives, and a device of it that is off. */
async function createScene() {
  await using starting = new AsyncDisposableStack();
  const waiting: Parameters<AuthenticateHandler>[3][] = [];
  const broker = await Aedes.createBroker({ authenticate: (_client, _name, _password, done) => waiting.push(done) });
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    broker.handle(socket);
  }).listen(0, '127.0.0.1');
  starting.defer(() => {
    broker.close();
    server.close();
  });
  await once(server, 'listening');
  const device = createConnection({
    url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stationId: 'home',
    login: { externalId: 'light-1', token: 'secret' },
    profile: { ...profiles.station, reconnectMs },
    random: () => 0,
    onConnected: () => undefined,
    onMessage: () => undefined,
    onClosed: () => undefined,
  });
  starting.defer(() => device.close());
  const all = starting.move();
  return {
    device,
    connections: () => connections,
    waiting,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

test('a device that loses power between CONNECT and CONNACK stays off, and connects once when it is switched on', async () => {
  await using scene = await createScene();
  const { device, waiting, connections } = scene;
  device.open();
  await until('the broker to have the CONNECT', () => waiting.length === 1);

  await device.close();
  await delay(10 * reconnectMs);
  assert.equal(connections(), 1, 'it is off');

  device.open();
  await until('the broker to have the next CONNECT', () => waiting.length === 2);
  waiting[1]?.(null, true);
  await until('the device to be connected', () => device.client.connected);
  await delay(10 * reconnectMs);
  assert.deepEqual([device.client.connected, connections()], [true, 2]);
});
