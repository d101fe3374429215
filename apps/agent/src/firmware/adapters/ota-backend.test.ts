import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startBackend } from '../../../testing/running-backend.ts';
import { createOtaBackend } from './ota-backend.ts';

const token = 'agent-token-of-the-test';

describe('device types for the backend', () => {
  const { signal } = new AbortController();

  test('go to its route with the token, in bodies that it takes', async () => {
    await using backend = await startBackend(204);
    const types = Array.from({ length: 20 }, (_, index) => ({ type: `t${index}`, icon: 'x'.repeat(30_000) }));
    const { announceTypes } = createOtaBackend({ url: backend.url, agentToken: token });
    assert.deepEqual(await announceTypes(types, signal), { kind: 'ok' });
    assert.ok(backend.received.every(({ url }) => url === '/api/ota/device-types'));
    assert.ok(backend.received.every(({ authorization }) => authorization === `Bearer ${token}`));
    const bodies = backend.received.map(({ body }) => body as { types: unknown[] });
    assert.deepEqual(
      bodies.flatMap((body) => body.types),
      types,
    );
    for (const body of bodies) assert.ok(JSON.stringify(body).length < 256 * 1024);
  });

  test('are kept back without an error from an older backend, and reported as failed by a broken one', async () => {
    for (const [status, kind] of [
      [404, 'ok'],
      [500, 'failed'],
      [401, 'failed'],
    ] as const) {
      await using backend = await startBackend(status);
      const { announceTypes } = createOtaBackend({ url: backend.url, agentToken: token });
      assert.equal((await announceTypes([{ type: 'relay' }], signal)).kind, kind);
    }
  });
});
