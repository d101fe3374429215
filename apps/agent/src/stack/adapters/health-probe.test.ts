import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createHttpProbe } from './health-probe.ts';

test('a failing health check names the reasons of the backend, and nothing else that the answer holds', async () => {
  let answer: [status: number, body: string] = [200, ''];
  const server = createServer((_request, response) => {
    response.writeHead(answer[0]);
    response.end(answer[1]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await using _closing = { [Symbol.asyncDispose]: async () => void server.close() };
  const { port } = server.address() as AddressInfo;
  const probe = createHttpProbe(new URL(`http://127.0.0.1:${port}/api/health`));
  const reasonOf = async (status: number, body: string): Promise<string | null> => {
    answer = [status, body];
    return (await probe(AbortSignal.timeout(60_000))).reason;
  };
  const plain = 'the health check answered 503';
  const full = { status: 'failing', reasons: { database: 'disk full' } };
  assert.equal(await reasonOf(200, JSON.stringify(full)), null);
  assert.equal(await reasonOf(503, JSON.stringify(full)), `${plain} (database: disk full)`);
  const both = { reasons: { database: 'input/output error', mqtt: 'not connected' } };
  assert.equal(
    await reasonOf(503, JSON.stringify(both)),
    `${plain} (database: input/output error, mqtt: not connected)`,
  );
  const others = [
    { status: 'failing' },
    { reasons: { database: 'Token=ABC123' } },
    { reasons: [1] },
    { reasons: 7 },
    null,
  ];
  for (const body of others) assert.equal(await reasonOf(503, JSON.stringify(body)), plain);
  for (const body of ['', '<html>', '{', `"${'x'.repeat(10_000)}"`]) assert.equal(await reasonOf(503, body), plain);
});
