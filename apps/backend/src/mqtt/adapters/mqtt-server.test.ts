import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { Aedes } from 'aedes';
import ownPackage from '../../../package.json' with { type: 'json' };
import { listenForMqtt } from './mqtt-server.ts';

test('the libraries have the versions whose private fields the adapter reads', () => {
  const { aedes, 'mqtt-packet': mqttPacket } = ownPackage.dependencies;
  assert.deepEqual([aedes, mqttPacket], ['1.2.0', '9.0.2']);
});

async function openServer() {
  const broker = await Aedes.createBroker();
  const counts = { tooLarge: 0, refused: [] as string[] };
  const server = await listenForMqtt({
    broker,
    host: '127.0.0.1',
    port: 0,
    maxConnections: 1_000,
    maxPacketBytes: 10_000,
    onTooLarge: () => (counts.tooLarge += 1),
    onRefused: (reason, address) => counts.refused.push(`${reason} ${address}`),
    onError: (error) => assert.ifError(error),
  });
  const open: Socket[] = [];
  return {
    counts,
    connect: async (): Promise<Socket> => {
      const { hostname, port } = new URL(server.address);
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      open.push(socket);
      socket.resume();
      await once(socket, 'connect');
      return socket;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = server[Symbol.asyncDispose]();
      await new Promise<void>((resolve) => broker.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

/** Sends CONNECT (MQTT 3.1.1, section 3.1). @param id one letter. */
async function logIn(socket: Socket, id: string): Promise<void> {
  const answered = once(socket, 'data');
  socket.write(Buffer.from([0x10, 13, 0, 4, ...Buffer.from('MQTT'), 4, 2, 0, 60, 0, 1, ...Buffer.from(id)]));
  const [answer] = (await answered) as [Buffer];
  assert.deepEqual([...answer], [0x20, 2, 0, 0]);
}

test('a packet over the limit ends its connection while it arrives; one below the limit does not', async () => {
  await using server = await openServer();
  // PUBLISH with a length of 2 MiB (MQTT 3.1.1, section 2.2.3), of which only a part is sent.
  const head = Buffer.from([0x30, 0x80, 0x80, 0x80, 0x01]);
  const fine = await server.connect();
  await logIn(fine, 'a');
  fine.write(Buffer.concat([head, Buffer.alloc(9_000)]));
  const large = await server.connect();
  await logIn(large, 'b');
  large.write(Buffer.concat([head, Buffer.alloc(20_000)]));
  await once(large, 'close');
  assert.equal(server.counts.tooLarge, 1);
  assert.ok(!fine.destroyed);
});

test('before its log-in a connection sends 4 KiB at most', async () => {
  await using server = await openServer();
  // CONNECT with a length of 8,000, of which the last byte is missing.
  const large = await server.connect();
  large.write(Buffer.concat([Buffer.from([0x10, 0xc0, 0x3e]), Buffer.alloc(7_999)]));
  await once(large, 'close');
  assert.deepEqual(server.counts, { tooLarge: 0, refused: ['too_large 127.0.0.1'] });
});

test('connections that do not log in make room for the next one, and end no device', async () => {
  await using server = await openServer();
  const device = await server.connect();
  await logIn(device, 'a');
  const silent: Socket[] = [];
  for (let count = 0; count < 257; count += 1) silent.push(await server.connect());
  const first = silent[0] ?? assert.fail();
  if (!first.destroyed) await once(first, 'close');
  await logIn(await server.connect(), 'b');
  assert.equal(device.destroyed, false);
  assert.deepEqual([...new Set(server.counts.refused)], ['too_many_connections 127.0.0.1']);
});
