import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CloudClaim, CloudStatus } from '@station/protocol/cloud';
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
});

test('without the certificates that were named there is no link, whoever else may be trusted', async () => {
  await using running = await runBackend({ env: { CLOUD_HOST: 'localhost:9', CLOUD_CA_FILE: '/nowhere/ca.pem' } });
  const headers = bearer((await running.setUp()).accessToken);
  const read = async () => (await running.http.inject({ url: '/api/cloud/status', headers })).json<CloudStatus>();
  await until('it is said', async () => (await read()).lastError === 'CLOUD_CA_FILE cannot be read, or is empty.');
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
