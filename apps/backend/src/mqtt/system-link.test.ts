import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { startForgetfulBroker } from '../../testing/forgetful-broker.ts';
import { until } from '../../testing/until.ts';
import { connectSystemLink } from './system-link.ts';

test('a link ends although the broker never acknowledges what is under way', async () => {
  await using broker = await startForgetfulBroker(5);
  let connected = 0;
  const link = connectSystemLink({
    url: broker.url,
    username: null,
    password: null,
    authority: null,
    stationId: 's',
    login: 'panel',
    rights: { mayPublish: ['panel/set'], mayRead: [] },
    will: { topic: 'panel/status', payload: 'offline' },
    clock: systemClock,
    onConnected: () => (connected += 1),
    onMessage: () => undefined,
  });
  await until('it is connected', () => connected === 1);
  broker.acknowledges = false;
  const publishing = link.publish('panel/status', 'offline', true);
  await until('it is under way', () => broker.received.length === 1);
  await Promise.all([assert.rejects(publishing), link[Symbol.asyncDispose]()]);
});
