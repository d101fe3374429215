import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { createCloudSockets, type CloudLoss } from './cloud-socket.ts';

const nothing = (): void => undefined;

test('a cloud that floods the station with pongs or pings is disconnected; one that pings normally is not', async (t) => {
  for (const [kind, count] of [
    ['pong', 5_000],
    ['ping', 5_000],
    ['ping', 50],
  ] as const) {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    t.after(() => {
      for (const client of server.clients) client.terminate();
      server.close();
    });
    server.on('connection', (socket) => {
      socket.on('error', nothing);
      for (let frame = 0; frame < count; frame++) socket[kind]('', false, nothing);
      socket.send('and that was it');
    });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    let pongs = 0;
    const outcome = Promise.withResolvers<CloudLoss | 'heard it to the end'>();
    const socket = createCloudSockets({ url: `ws://127.0.0.1:${port}`, ca: null, pins: [] })({
      onOpen: nothing,
      onMessage: () => outcome.resolve('heard it to the end'),
      onPong: () => void (pongs += 1),
      onClose: outcome.resolve,
    });
    const result = await outcome.promise;
    socket.end();
    if (count < 100) assert.equal(result, 'heard it to the end');
    else assert.match((result as CloudLoss).reason, /more pings and pongs/);
    assert.ok(pongs <= 200, `${pongs} were dealt with`);
  }
});
