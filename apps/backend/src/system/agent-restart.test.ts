import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearer, runBackend } from '../../testing/running-backend.ts';

test('only the agent may request a restart, and gets its answer first', async () => {
  let restarts = 0;
  const agentToken = 'token-of-the-agent';
  await using running = await runBackend({ env: { AGENT_TOKEN: agentToken }, onRestart: () => (restarts += 1) });
  const ask = (headers: Record<string, string>) =>
    running.http.inject({ method: 'POST', url: '/api/agent/restart', headers });
  assert.equal((await ask({})).statusCode, 401);
  assert.equal((await ask(bearer((await running.setUp()).accessToken))).statusCode, 401);
  assert.equal(restarts, 0);
  assert.equal((await ask(bearer(agentToken))).statusCode, 202);
  assert.equal(restarts, 1);
});
