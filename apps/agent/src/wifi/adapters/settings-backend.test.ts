import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AgentSettings } from '@station/protocol/rest';
import { Value } from 'typebox/value';
import { startBackend } from '../../../testing/running-backend.ts';
import { createSettingsBackend } from './settings-backend.ts';

const wifi = { ssid: 'Мережа', password: 'a long secret', security: 'wpa2' } as const;
const token = 'agent-token-of-the-test';

describe('credentials for the backend', () => {
  test('go to its route with the token, in the shape that it takes', async () => {
    await using backend = await startBackend(204);
    const { send } = createSettingsBackend({ url: backend.url, agentToken: token });
    assert.deepEqual(await send(wifi, new AbortController().signal), { kind: 'accepted' });
    await send({ ...wifi, password: null, security: null }, new AbortController().signal);
    const [first, second] = backend.received;
    assert.deepEqual(first, {
      method: 'POST',
      url: '/api/settings/agent',
      authorization: `Bearer ${token}`,
      body: { wifi },
    });
    assert.deepEqual(second?.body, { wifi: { ssid: wifi.ssid, password: '' } });
    assert.ok(backend.received.every(({ body }) => Value.Check(AgentSettings, body)));
  });

  for (const [status, kind] of [
    [400, 'refused'],
    [404, 'refused'],
    [422, 'refused'],
    [401, 'failed'],
    [403, 'failed'],
    [408, 'failed'],
    [429, 'failed'],
    [302, 'failed'],
    [500, 'failed'],
    [503, 'failed'],
  ] as const) {
    test(`are ${kind} by an answer ${status}, without a secret in the reason`, async () => {
      await using backend = await startBackend(status, { location: 'http://127.0.0.1:1/' });
      const { send } = createSettingsBackend({ url: backend.url, agentToken: token });
      const answer = await send(wifi, new AbortController().signal);
      assert.equal(answer.kind, kind);
      assert.ok(!JSON.stringify(answer).includes(wifi.password) && !JSON.stringify(answer).includes(token));
      assert.equal(backend.received.length, 1);
    });
  }

  test('fail when nothing listens', async () => {
    const url = await startBackend(204).then(async (backend) => {
      await backend[Symbol.asyncDispose]();
      return backend.url;
    });
    const answer = await createSettingsBackend({ url, agentToken: null }).send(wifi, new AbortController().signal);
    assert.deepEqual(answer, { kind: 'failed', reason: 'the backend does not answer (ECONNREFUSED)' });
  });
});
