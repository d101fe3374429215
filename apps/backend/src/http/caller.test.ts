import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { StationError } from '@station/kit/station-error';
import { createVerifyToken } from './caller.ts';

const user = { userId: '1', role: 'member', sessionId: 's' } as const;
const verifyToken = createVerifyToken({
  verify: async (token: string) => (token === 'right' ? user : null),
} as Parameters<typeof createVerifyToken>[0]);

/** What the hook does with a request: the user that it sets, or the status of its error. */
async function outcome(method: string, authorization?: string): Promise<unknown> {
  const request = { method, headers: { authorization }, user: null } as unknown as FastifyRequest;
  try {
    await (verifyToken as (request: FastifyRequest, reply: FastifyReply) => Promise<void>)(request, {} as FastifyReply);
    return request.user;
  } catch (error) {
    assert.ok(error instanceof StationError);
    return error.statusCode;
  }
}

test('verifyToken takes a valid bearer token alone', async () => {
  assert.deepEqual(await outcome('GET', 'Bearer right'), user);
  for (const authorization of [undefined, '', 'right', 'Basic right', 'Bearer wrong', 'Bearer right more']) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      assert.equal(await outcome(method, authorization), 401, `${method} ${authorization}`);
    }
  }
});

test('verifyToken skips HEAD and OPTIONS, and sets no user then (specification, "Backend hooks", 1)', async () => {
  for (const method of ['HEAD', 'OPTIONS']) {
    for (const authorization of [undefined, 'Bearer wrong', 'Bearer right']) {
      assert.equal(await outcome(method, authorization), null);
    }
  }
});
