import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { deviceTopic } from '@station/protocol/topics';
import { hashToken, newToken } from '../core/secrets.ts';
import { noForeignDevices } from '../../testing/no-gateways.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { connectDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';
import { startBroker } from './broker.ts';
import { createDroppedMessages } from './dropped-messages.ts';

test('a command waits for a device that keeps its session, but not beyond its expiry', async () => {
  const login = { stationId: 's', id: '', externalId: 'lamp-1', token: newToken() };
  await using broker = await startBroker({
    host: '127.0.0.1',
    ports: { plain: 0, tls: null },
    stationId: 's',
    findTokenHash: async () => hashToken(login.token),
    unregistered: { mayLogIn: async () => false },
    expected: { mayLogIn: async () => false },
    foreign: noForeignDevices,
    handler: { onMessage: () => Promise.resolve(), onListening: () => undefined },
    clock: systemClock,
    dropped: createDroppedMessages({ clock: systemClock, logger: recordedLog() }),
    refusals: { connection: () => undefined, login: () => undefined },
    onReplaced: () => undefined,
    onError: () => undefined,
  });
  const session = { clientId: 'lamp', clean: false };
  {
    await using _once = await connectDevice(broker.addresses[0] ?? '', login, session);
  }
  const topic = deviceTopic('s', 'lamp-1', 'command');
  await broker.publish(topic, '{"action":"late"}', 20);
  await broker.publish(topic, '{"action":"in time"}', 60_000);
  await sleep(40);
  await using lamp = await connectDevice(broker.addresses[0] ?? '', login, session);
  await broker.publish(topic, '{"action":"last"}', 60_000);
  await until('the last one arrives', () => lamp.received.some(({ body }) => body['action'] === 'last'));
  assert.deepEqual(
    lamp.received.map(({ body }) => body['action']),
    ['in time', 'last'],
  );
});
