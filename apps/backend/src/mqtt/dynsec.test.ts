import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startForgetfulBroker } from '../../testing/forgetful-broker.ts';
import { createDynsec } from './dynsec.ts';

const login = { username: 'backend', password: 'secret', authority: null, stationId: 's', answerMs: 300 };
const hasRights = JSON.stringify({
  responses: [{ command: 'getClient', data: { client: { roles: [{ rolename: 'station-backend' }] } } }],
});
const { signal } = new AbortController();

test('a broker that does not answer at once is asked again before it counts as one without logins', async () => {
  await using broker = await startForgetfulBroker(4);
  const dynsec = createDynsec({ ...login, url: broker.url });
  assert.equal(await dynsec.prepare(2, signal), false);
  assert.equal(broker.connections, 2);
  broker.replyTo = () => (broker.connections < 4 ? null : hasRights);
  assert.equal(await dynsec.prepare(100, signal), true);
});

test('a backend that is ending does not ask again', async () => {
  await using broker = await startForgetfulBroker(4);
  await assert.rejects(createDynsec({ ...login, url: broker.url }).prepare(3, AbortSignal.abort()));
  assert.equal(broker.connections, 1);
});
