import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CloudClaim, CloudSetAside, CloudStatus } from '@station/protocol/cloud';
import { findFreePort } from '@station/kit/free-port';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { until } from '../../testing/until.ts';

test('without a cloud: disabled, nothing to claim, and everything else works', async () => {
  await using running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  const status = (await running.http.inject({ url: '/api/cloud/status', headers })).json<CloudStatus>();
  assert.equal(status.state, 'disabled');
  assert.equal((await running.http.inject({ url: '/api/cloud/claim', headers })).statusCode, 409);
  assert.equal((await running.http.inject({ method: 'POST', url: '/api/cloud/unclaim', headers })).statusCode, 409);
  assert.deepEqual((await running.http.inject({ url: '/api/cloud/activity', headers })).json(), []);
  assert.equal((await running.http.inject({ url: '/api/cloud/set-aside', headers })).statusCode, 409);
  const again = await running.http.inject({ method: 'POST', url: '/api/cloud/set-aside/send', headers });
  assert.equal(again.statusCode, 409);
});

test('what was set aside is listed, told as a condition, and sent again by whoever may; who did it is in the log', async () => {
  const env = { CLOUD_HOST: `ws://127.0.0.1:${await findFreePort()}` };
  await using running = await runBackend({ env });
  const session = await running.setUp();
  const headers = bearer(session.accessToken);
  const row = { seq: 7, channel: 'system', content: '{"id":"a"}', reason: 'closed with 1008', at: 1_000 };
  await running.backend.db.insertInto('cloud_set_aside').values(row).execute();
  const status = async () => (await running.http.inject({ url: '/api/cloud/status', headers })).json<CloudStatus>();
  assert.deepEqual(
    (await status()).conditions.map(({ id, since }) => [id, since]),
    [['cloud_messages_set_aside', '1970-01-01T00:00:01.000Z']],
  );
  assert.deepEqual((await running.http.inject({ url: '/api/cloud/set-aside', headers })).json<CloudSetAside[]>(), [
    { seq: 7, channel: 'system', reason: 'closed with 1008', at: '1970-01-01T00:00:01.000Z' },
  ]);
  const sent = await running.http.inject({ method: 'POST', url: '/api/cloud/set-aside/send', headers });
  assert.deepEqual(sent.json(), { count: 1 });
  const after = await status();
  assert.deepEqual(after.conditions, []);
  assert.deepEqual([after.outbox.pending, after.outbox.setAside], [1, 0]);
  const logged = running.log.lines.find((line) => line.includes('cloud_set_aside_sent')) ?? '';
  assert.ok(logged.includes(session.user.id), logged);
});

test('without the certificates that were named there is no link, whoever else may be trusted', async () => {
  await using running = await runBackend({ env: { CLOUD_HOST: 'localhost:9', CLOUD_CA_FILE: '/nowhere/ca.pem' } });
  const headers = bearer((await running.setUp()).accessToken);
  const read = async () => (await running.http.inject({ url: '/api/cloud/status', headers })).json<CloudStatus>();
  await until('it is said', async () => (await read()).lastError === 'CLOUD_CA_FILE cannot be read, or is empty.');
  assert.deepEqual(
    (await read()).conditions.map(({ id }) => id),
    ['cloud_certificate_untrusted'],
  );
});

test('with a cloud that is away: unclaimed, why, and when it is tried again; the code to claim it stays the same', async () => {
  const env = { CLOUD_HOST: `ws://127.0.0.1:${await findFreePort()}` };
  await using running = await runBackend({ env });
  const headers = bearer((await running.setUp()).accessToken);
  const read = async () => (await running.http.inject({ url: '/api/cloud/status', headers })).json<CloudStatus>();
  await until('it is known that the cloud is away', async () => (await read()).lastError !== null);
  const status = await read();
  assert.equal(status.state, 'unclaimed');
  assert.match(status.lastError ?? '', /ECONNREFUSED/);
  const claim = async () => (await running.http.inject({ url: '/api/cloud/claim', headers })).json<CloudClaim>();
  const first = await claim();
  assert.ok(first.claimSecret.length > 20 && first.uri.includes(first.chipId));
  assert.deepEqual(await claim(), first);
  assert.equal((await running.http.inject({ method: 'POST', url: '/api/cloud/unclaim', headers })).statusCode, 204);
  assert.notEqual((await claim()).claimSecret, first.claimSecret, 'who saw the old code is shut out');
  const health = await running.http.inject({ url: '/api/health' });
  assert.equal(health.statusCode, 200);
  assert.ok(!running.log.lines.join('\n').includes(first.claimSecret));
});
