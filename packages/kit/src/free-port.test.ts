import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { findFreePort } from './free-port.ts';

test('ports are free, distinct, and outside the range that the system assigns', async () => {
  const ports = await Promise.all(Array.from({ length: 100 }, findFreePort));
  assert.equal(new Set(ports).size, 100);
  assert.ok(Math.max(...ports) < 32_768);
});

test('skips a port that is in use', async () => {
  const server = createServer().listen((await findFreePort()) + 1, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  assert.notEqual(await findFreePort(), port);
  server.close();
});
