import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { createAccessTokens } from '../core/access-tokens.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { createVerifyToken } from './caller.ts';
import { createHttpServer } from './server.ts';

const holder = { userId: 'petro', role: 'member', sessionId: 'phone', endsAt: null } as const;

/** A server with a route of every method behind the hook. It answers with the user that the hook has set. */
async function serve() {
  const secret = 'a secret of the configuration, 32+ bytes';
  const tokens = createAccessTokens({ secret, clock: manualClock(), findHolder: async () => holder });
  const app = createHttpServer({ logger: recordedLog() });
  const handler = async ({ user }: FastifyRequest) => ({ userId: user?.userId ?? null });
  const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
  for (const method of methods) app.route({ method, url: '/', onRequest: createVerifyToken(tokens), handler });
  await app.ready();
  const { token } = await tokens.issue(holder, tokens.moment());
  const ask = (method: (typeof methods)[number], authorization: string | null) =>
    app.inject({ method, url: '/', headers: authorization === null ? {} : { authorization } });
  return { app, token, methods, ask };
}

test('verifyToken takes a valid bearer token alone', async () => {
  const { app, token, methods, ask } = await serve();
  assert.deepEqual((await ask('GET', `Bearer ${token}`)).json(), { userId: 'petro' });
  for (const authorization of [null, '', token, `Basic ${token}`, 'Bearer wrong', `Bearer ${token} more`]) {
    for (const method of methods.filter((one) => one !== 'HEAD' && one !== 'OPTIONS')) {
      assert.equal((await ask(method, authorization)).statusCode, 401, `${method} ${authorization}`);
    }
  }
  await app.close();
});

test('verifyToken skips HEAD and OPTIONS, and sets no user then (specification, "Backend hooks", 1)', async () => {
  const { app, token, ask } = await serve();
  for (const authorization of [null, 'Bearer wrong', `Bearer ${token}`]) {
    assert.equal((await ask('HEAD', authorization)).statusCode, 200);
    assert.deepEqual((await ask('OPTIONS', authorization)).json(), { userId: null });
  }
  await app.close();
});
