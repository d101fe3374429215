import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { markRunning } from './running.ts';

describe('the mark of a running station', () => {
  it('tells a second process where the first one runs, and is removed with it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'station-running-'));
    const path = join(folder, 'running.sock');
    try {
      const first = await markRunning(path);
      assert.ok('publish' in first);
      assert.deepEqual(await markRunning(path), { runsAt: 'starting' });
      first.publish('http://127.0.0.1:1');
      assert.deepEqual(await markRunning(path), { runsAt: 'http://127.0.0.1:1' });
      await first[Symbol.asyncDispose]();
      const next = await markRunning(path);
      assert.ok('publish' in next);
      await next[Symbol.asyncDispose]();
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('of a killed process does not block the next one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'station-running-'));
    const path = join(folder, 'running.sock');
    try {
      const code = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
      await once(spawn(process.execPath, ['-e', code]), 'exit');
      const mark = await markRunning(path);
      assert.ok('publish' in mark);
      await mark[Symbol.asyncDispose]();
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
