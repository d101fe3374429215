import assert from 'node:assert/strict';
import { test } from 'node:test';
import { once } from 'node:events';
import { connect as connectTcp, type AddressInfo, createServer, type Socket } from 'node:net';
import type { Client } from 'aedes';
import { connect as connectMqtt, type IClientOptions } from 'mqtt';
import { generate } from 'mqtt-packet';
import { systemClock } from '@station/kit/clock';
import { deviceTopic } from '@station/protocol/topics';
import ownPackage from '../../../package.json' with { type: 'json' };
import { hashToken } from '../../core/secrets.ts';
import { noForeignDevices } from '../../../testing/no-gateways.ts';
import { recordedLog } from '../../../testing/recorded-log.ts';
import { until } from '../../../testing/until.ts';
import { startBroker } from '../broker.ts';
import { createDroppedMessages } from '../dropped-messages.ts';
import { createKeptSessions } from './kept-sessions.ts';
import { createAedes } from './mqtt-server.ts';

test('the library has the version whose private parts the adapter wraps', () => {
  assert.equal(ownPackage.dependencies.aedes, '1.2.0');
});

/** The embedded broker; every device has the token `secret`. */
async function startHouse() {
  const broker = await startBroker({
    host: '127.0.0.1',
    ports: { plain: 0, tls: null },
    stationId: 's',
    findTokenHash: async () => hashToken('secret'),
    unregistered: { mayLogIn: async () => false },
    expected: { mayLogIn: async () => false },
    foreign: noForeignDevices,
    handler: { onMessage: async () => undefined, onListening: () => undefined },
    clock: systemClock,
    dropped: createDroppedMessages({ clock: systemClock, logger: recordedLog() }),
    refusals: { connection: () => undefined, login: () => undefined },
    onReplaced: () => undefined,
    onError: () => undefined,
  });
  const connect = async (username: string, options: IClientOptions) => {
    const login = { username, password: 'secret', reconnectPeriod: 0, protocolVersion: 4, clean: false } as const;
    // What waits comes right behind the answer to the log-in.
    const client = connectMqtt(broker.addresses[0] ?? '', { ...login, manualConnect: true, ...options });
    const received: string[] = [];
    client.on('message', (_topic, payload) => received.push(payload.toString()));
    const connected = new Promise<void>((resolve) => client.once('connect', () => resolve()));
    client.connect();
    await connected;
    return { client, received, [Symbol.asyncDispose]: () => client.endAsync(true) };
  };
  const command = (device: string, payload: string): Promise<void> =>
    broker.publish(deviceTopic('s', device, 'command'), payload, 60_000);
  return { broker, connect, command, [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose]() };
}

const own = deviceTopic('s', 'lamp', 'command');

test('of a subscription of which a part is refused, the session keeps the rest alone', async () => {
  await using house = await startHouse();
  {
    await using lamp = await house.connect('lamp', { clientId: 'a' });
    await assert.rejects(lamp.client.subscribeAsync([own, '#', 'station/s/device/+/command'], { qos: 1 }));
  }
  await house.command('door', 'open');
  await house.command('lamp', 'first');
  await using lamp = await house.connect('lamp', { clientId: 'a' });
  await house.command('door', 'close');
  await house.command('lamp', 'last');
  await until('the last one', () => lamp.received.includes('last'));
  assert.deepEqual(lamp.received, ['first', 'last']);
});

test('what waits for a client has a limit: the newest is lost', async () => {
  await using house = await startHouse();
  {
    await using lamp = await house.connect('lamp', { clientId: 'a' });
    await lamp.client.subscribeAsync(own, { qos: 1 });
  }
  const rest = 'x'.repeat(100_000);
  const numbersOf = (received: readonly string[]): number[] => received.map((text) => parseInt(text));
  const read = async (last: number): Promise<number[]> => {
    await using lamp = await house.connect('lamp', { clientId: 'a' });
    await until('the last one', () => numbersOf(lamp.received).includes(last));
    // Comes behind all that waited.
    await house.command('lamp', '99');
    await until('the end', () => numbersOf(lamp.received).includes(99));
    return numbersOf(lamp.received).slice(0, -1);
  };
  for (let count = 0; count < 20; count++) await house.command('lamp', `${count} ${rest}`);
  assert.deepEqual(await read(9), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  // What was read makes room.
  for (let count = 0; count < 3; count++) await house.command('lamp', `${count} ${rest}`);
  assert.deepEqual(await read(2), [0, 1, 2]);
});

test('a login keeps four sessions: one more takes the session that was used longest ago', async () => {
  await using house = await startHouse();
  const clientIds = Array.from({ length: 6 }, (_, at) => `client ${at}`);
  for (const clientId of clientIds) {
    await using lamp = await house.connect('lamp', { clientId });
    await lamp.client.subscribeAsync(own, { qos: 1 });
  }
  {
    await using other = await house.connect('door', { clientId: 'client 0' });
    await other.client.subscribeAsync(deviceTopic('s', 'door', 'command'), { qos: 1 });
  }
  await house.command('door', 'open');
  await house.command('lamp', 'waiting');
  const read = async (clientId: string): Promise<readonly string[]> => {
    await using lamp = await house.connect('lamp', { clientId });
    await house.command('lamp', 'last');
    await until('the last one', () => lamp.received.includes('last'));
    return lamp.received;
  };
  const readings = [];
  for (const clientId of clientIds.toReversed()) readings.push(await read(clientId));
  assert.equal(readings.filter((received) => received.includes('waiting')).length, 4);
  await using door = await house.connect('door', { clientId: 'client 0' });
  await until('the command of the other', () => door.received.includes('open'));
});

test('with a login its sessions end, and nothing that waited in them stays', async () => {
  await using house = await startHouse();
  for (const clientId of ['a', 'b']) {
    await using lamp = await house.connect('lamp', { clientId });
    await lamp.client.subscribeAsync(own, { qos: 1 });
  }
  await house.command('lamp', 'first');
  await house.command('lamp', 'second');
  await house.broker.forget?.('lamp');
  // Somebody else has the login later, as a device that is added again.
  await using lamp = await house.connect('lamp', { clientId: 'a' });
  await lamp.client.subscribeAsync(own, { qos: 1 });
  await house.command('lamp', 'last');
  await until('the last one', () => lamp.received.includes('last'));
  assert.deepEqual(lamp.received, ['last']);
});

type Kept = {
  incomingStorePacket(client: Client, packet: { messageId: number }): Promise<void>;
  incomingGetPacket(client: { id: string }, packet: { messageId: number }): Promise<unknown>;
};

test('who takes the session of another client has no numbers of its messages', async () => {
  const sessions = createKeptSessions();
  const broker = await createAedes({});
  using ending = new DisposableStack();
  ending.defer(() => broker.close());
  sessions.bound(broker, () => true);
  const { persistence } = broker as unknown as { persistence: Kept };
  const client = { id: '', closed: false } as unknown as Client;
  const enter = (clientId: string) => sessions.enter(client, 'lamp', { clientId, isClean: false, most: 1 });
  enter('one');
  await persistence.incomingStorePacket(client, { messageId: 1 });
  enter('one');
  await persistence.incomingGetPacket(client, { messageId: 1 });
  enter('another');
  await assert.rejects(persistence.incomingGetPacket(client, { messageId: 1 }));
});

test('a clean client that leaves in the middle of a message of QoS 2 leaves nothing; a kept session knows which it was', async () => {
  const handled = Promise.withResolvers<void>();
  let begun = 0;
  const broker = await createAedes({
    authorizePublish: (_client, { payload }, done) => {
      begun += 1;
      if (payload.toString() === 'slow') void handled.promise.then(() => done());
      else done();
    },
  });
  createKeptSessions().bound(broker, () => true);
  const server = createServer((socket) => void broker.handle(socket)).listen(0, '127.0.0.1');
  using ending = new DisposableStack();
  ending.defer(() => broker.close());
  ending.defer(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ids = ['kept', 'clean'];
  const sockets: Socket[] = [];
  for (const clientId of ids) {
    const socket = connectTcp(port, '127.0.0.1');
    sockets.push(socket);
    socket.write(generate({ cmd: 'connect', clientId, clean: clientId === 'clean', keepalive: 0 }));
    await once(broker, 'clientReady');
    for (const [index, payload] of ['quick', 'slow'].entries())
      socket.write(
        generate({ cmd: 'publish', topic: 'a', payload, qos: 2, messageId: index + 1, dup: false, retain: false }),
      );
  }
  await until('all have arrived', () => begun === 4 && broker.connectedClients === 2);
  for (const socket of sockets) socket.destroy();
  await until('both have left', () => broker.connectedClients === 0);
  handled.resolve();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const { persistence } = broker as unknown as { persistence: Kept };
  for (const messageId of [1, 2]) {
    await persistence.incomingGetPacket({ id: 'kept' }, { messageId });
    await assert.rejects(persistence.incomingGetPacket({ id: 'clean' }, { messageId }));
  }
});
