import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import { systemClock } from '@station/kit/clock';
import type { TopicRights } from '../core/foreign-devices-port.ts';
import { hashToken } from '../core/secrets.ts';
import { noForeignDevices } from '../../testing/no-gateways.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { until } from '../../testing/until.ts';
import { startBroker } from './broker.ts';
import { createDroppedMessages } from './dropped-messages.ts';

/** A broker with the login `panel` of another system, and what it has taken. */
async function start(rights: TopicRights) {
  const taken: string[] = [];
  const logger = recordedLog();
  const broker = await startBroker({
    host: '127.0.0.1',
    ports: { plain: 0, tls: null },
    stationId: 's',
    findTokenHash: async () => null,
    unregistered: { mayLogIn: async () => false },
    expected: { mayLogIn: async () => false },
    foreign: {
      ...noForeignDevices,
      findLogin: (login) => (login === 'panel' ? { login, rights, tokenHash: hashToken('secret') } : null),
    },
    handler: { onMessage: async ({ topic }) => void taken.push(topic), onListening: () => undefined },
    clock: systemClock,
    dropped: createDroppedMessages({ clock: systemClock, logger }),
    refusals: { connection: () => undefined, login: () => undefined },
    onReplaced: () => undefined,
    onError: () => undefined,
  });
  const connect = (options: object = {}) =>
    connectAsync(broker.addresses[0] ?? '', {
      username: 'panel',
      password: 'secret',
      reconnectPeriod: 0,
      protocolVersion: 4,
      ...options,
    });
  return { broker, connect, taken, logger, [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose]() };
}

test('another system publishes and reads what its rights name, and nothing else', async () => {
  await using house = await start({ mayPublish: ['panel/+/set', 'panel/status'], mayRead: ['panel/#', 'out/+/state'] });
  const client = await house.connect();
  for (const filter of ['panel/#', 'panel/+/state', 'panel/lamp', 'out/+/state', 'out/lamp/state'])
    await client.subscribeAsync(filter);
  for (const filter of ['#', '+/+', 'out/#', 'out/lamp', 'station/#', '$SYS/#', '$share/g/panel/#'])
    await assert.rejects(client.subscribeAsync(filter), filter);
  const read: string[] = [];
  client.on('message', (topic) => read.push(topic));
  for (const topic of ['panel/lamp/state', 'out/lamp/state', 'panel', 'out/lamp', 'station/s/device/lamp/command'])
    await house.broker.publish(topic, '{}', 60_000);
  for (const topic of ['panel/lamp/state', 'panel/lamp', 'panel/lamp/set/on', 'station/s/device/lamp/state', 'out/x'])
    await client.publishAsync(topic, '{}', { qos: 1 });
  await client.publishAsync('panel/lamp/set', 'ON', { qos: 1 });
  await client.publishAsync('panel/status', 'online', { qos: 1, retain: true });
  assert.deepEqual(house.taken, ['panel/lamp/set', 'panel/status']);
  await until('the last one', () => read.includes('panel'));
  // A message may match several subscriptions.
  assert.deepEqual([...new Set(read)], ['panel/lamp/state', 'out/lamp/state', 'panel']);
  await client.endAsync(true);
});

test('a session of before reads only what the rights of now name', async () => {
  const rights = { mayPublish: [], mayRead: ['panel/#', 'old/#'] };
  await using house = await start(rights);
  const session = { clientId: 'kept', clean: false };
  const before = await house.connect(session);
  await before.subscribeAsync(['old/#', 'panel/#'], { qos: 1 });
  await before.endAsync(true);
  rights.mayRead = ['panel/#'];
  await house.broker.publish('old/lamp', '{}', 60_000);
  const read: string[] = [];
  const after = await house.connect(session);
  after.on('message', (topic) => read.push(topic));
  await house.broker.publish('old/lamp', '{}', 60_000);
  await house.broker.publish('panel/lamp', '{}', 60_000);
  await until('what it may read', () => read.includes('panel/lamp'));
  // At QoS 1 a message may come twice.
  assert.deepEqual([...new Set(read)], ['panel/lamp']);
  await after.endAsync(true);
});
