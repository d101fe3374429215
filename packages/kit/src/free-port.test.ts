import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
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

test('a port is not given to another program either, as long as this one runs', async () => {
  const own = await Promise.all(Array.from({ length: 64 }, findFreePort));
  // The other program begins its search at the same port.
  const source = `
    Object.defineProperty(process, 'pid', { value: ${process.pid} });
    const { findFreePort } = await import(${JSON.stringify(import.meta.resolve('./free-port.ts'))});
    const ports = [];
    for (let i = 0; i < 400; i += 1) ports.push(await findFreePort());
    console.log(JSON.stringify(ports));`;
  const other = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' });
  const ports = JSON.parse(other.stdout) as number[];
  assert.equal(ports.length, 400, other.stderr);
  assert.deepEqual(
    ports.filter((port) => own.includes(port)),
    [],
  );
});
