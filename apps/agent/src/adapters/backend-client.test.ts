import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { AgentSettings } from '@station/protocol/rest';
import { Value } from 'typebox/value';
import { createOtaBackend, createSettingsBackend } from './backend-client.ts';

const wifi = { ssid: 'Мережа', password: 'a long secret', security: 'wpa2' } as const;
const token = 'agent-token-of-the-test';

type Received = {
  method: string | undefined;
  url: string | undefined;
  authorization: string | undefined;
  body: unknown;
};

async function startBackend(status: number, headers: Record<string, string> = {}) {
  const received: Received[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const { method, url } = request;
      received.push({ method, url, authorization: request.headers.authorization, body: JSON.parse(text) });
      response.writeHead(status, headers).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return {
    url,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

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
