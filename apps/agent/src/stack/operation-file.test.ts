import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { createEmitter } from '@station/kit/emitter';
import type { Operation } from '@station/protocol/agent-api';
import type { OperationFile } from '@station/protocol/operation-file';
import { keepOperationFile } from './operation-file.ts';

const update: Operation = {
  id: '1',
  kind: 'update',
  phase: 'pulling',
  trigger: 'manual',
  startedAt: '2026-01-01T00:00:00.000Z',
  version: '1.2.0',
  progress: { doneBytes: 0, totalBytes: null, percent: null },
};

/** Time passes only when the file was read as wanted: no test waits for a second. */
async function start(path: string) {
  const changed = createEmitter<void>();
  const stopping = new AbortController();
  let operation: Operation | null = null;
  const stack = { operation: () => operation, onChange: changed.subscribe };
  const clock = { ...systemClock, sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 100, signal) };
  const running = keepOperationFile({ path, stack, disk: nodeDisk, clock }, stopping.signal);
  return {
    set: (next: Operation | null, announce = true) => {
      operation = next;
      if (announce) changed.emit();
    },
    phase: async (): Promise<string | null> => {
      const file = JSON.parse(await readFile(path, 'utf8')) as OperationFile;
      return file.operation?.phase ?? null;
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}

async function until(what: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await what().catch(() => false)); tries += 1) {
    assert.ok(tries < 12_000, 'the file does not say so');
    await systemClock.sleep(5);
  }
}

describe('the file with the operation under way', () => {
  it('says each phase, what becomes known within one, and the end', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'station-operation-'));
    try {
      const path = join(folder, 'public', 'operation.json');
      await using file = await start(path);
      await until(async () => (await file.phase()) === null);
      assert.equal((await stat(path)).mode & 0o777, 0o644, 'the proxy may read it');
      file.set(update);
      await until(async () => (await file.phase()) === 'pulling');
      file.set({ ...update, phase: 'reverting' });
      await until(async () => (await file.phase()) === 'reverting');
      file.set({ ...update, phase: 'verifying_revert' }, false);
      await until(async () => (await file.phase()) === 'verifying_revert');
      file.set(null);
      await until(async () => (await file.phase()) === null);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('is written as soon as it can be', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'station-operation-'));
    try {
      await writeFile(join(folder, 'public'), 'in the way');
      const path = join(folder, 'public', 'operation.json');
      await using file = await start(path);
      file.set(update);
      await systemClock.sleep(20);
      await rm(join(folder, 'public'));
      await until(async () => (await file.phase()) === 'pulling');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
