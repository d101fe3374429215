import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findFreePort } from '@station/kit/free-port';
import { findKeptPort, isTaken, listenOnUsual } from './ports.ts';

async function take(port: number): Promise<AsyncDisposable> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

describe('listenOnUsual', () => {
  it('uses the usual port, or the next free one', async () => {
    const usual = await findFreePort();
    await using _taken = await take(usual);
    const tried: number[] = [];
    await using _next = await listenOnUsual(null, usual, (port) => {
      tried.push(port);
      return take(port);
    });
    assert.equal(tried[0], usual);
    assert.ok(tried.length > 1);
  });

  it('uses only the requested port', async () => {
    const asked = await findFreePort();
    await using _taken = await take(asked);
    await assert.rejects(listenOnUsual(asked, 8080, take), isTaken);
  });
});

describe('findKeptPort', () => {
  it('finds the same port at each start, and another one when a program has taken it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'station-ports-'));
    try {
      const file = join(folder, 'mqtt-port');
      const first = await findKeptPort(file);
      assert.equal(await findKeptPort(file), first);
      await using _taken = await take(first);
      assert.notEqual(await findKeptPort(file), first);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
