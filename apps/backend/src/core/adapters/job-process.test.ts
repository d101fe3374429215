import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { BackupProgress } from '@station/protocol/backups';
import type { BackupJob, BackupOutcome } from '../../backup/backup-job.ts';
import { runBackend } from '../../../testing/running-backend.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { testOnSqlite } from '../../../testing/test-postgres.ts';
import { findBackendProgram, JobTooSlowError, runInProcess } from './job-process.ts';

const program = findBackendProgram();
/** Beside programs that never pause, a process at the lowest priority needs minutes to start. */
const patience = { timeout: 900_000 };
const passphrase = 'correct horse battery staple';

function make(dataDir: string, to: string, options: { signal?: AbortSignal; onProgress?: () => void } = {}) {
  const { signal = new AbortController().signal, onProgress = () => undefined } = options;
  const job: BackupJob = { work: 'make', dataDir, to, passphrase, version: '1.0.0', at: Date.now(), agent: null };
  return runInProcess<BackupProgress, BackupOutcome>(job, { program, onProgress, signal });
}

testOnSqlite(
  'another process backs up a running backend, and reports its progress',
  async () => {
    await using running = await runBackend();
    await using folder = await temporaryFolder();
    let reports = 0;
    const outcome = await make(running.dataDir, join(folder.path, 'a.age'), { onProgress: () => reports++ });
    assert.equal(outcome.kind, 'done', JSON.stringify(outcome));
    assert.ok(reports > 0);
    assert.deepEqual(await readdir(folder.path), ['a.age']);
  },
  patience,
);

testOnSqlite(
  'an aborted job ends, and leaves no file',
  async () => {
    await using running = await runBackend();
    await using folder = await temporaryFolder();
    const ending = new AbortController();
    ending.abort();
    const outcome = await make(running.dataDir, join(folder.path, 'a.age'), { signal: ending.signal }).catch(
      () => null,
    );
    assert.notEqual(outcome?.kind, 'done');
    assert.deepEqual(await readdir(folder.path), []);
  },
  patience,
);

test('a process that ends without an outcome is an error that says why', patience, async () => {
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, 'data'));
  const options = { program: join(folder.path, 'missing.ts'), onProgress: () => undefined };
  await assert.rejects(
    runInProcess({}, { ...options, signal: new AbortController().signal }),
    /exit code 1.*missing\.ts/s,
  );
});

/** A program that reports once and then, as inside a query of SQLite, neither reads its input nor answers. */
async function stuckProgram(folder: string): Promise<string> {
  const file = join(folder, 'stuck.mjs');
  await writeFile(file, `import { writeSync } from 'node:fs'; writeSync(1, '{"progress":1}\\n'); for (;;);`);
  return file;
}

test('a job that is stuck is killed when it is cancelled', patience, async () => {
  await using folder = await temporaryFolder();
  const ending = new AbortController();
  const onProgress = (): void => ending.abort();
  const options = { program: await stuckProgram(folder.path), onProgress, signal: ending.signal };
  await assert.rejects(runInProcess({}, options), /SIGKILL/);
});

test('a job that reports nothing for longer than it may is killed', patience, async () => {
  await using folder = await temporaryFolder();
  const mostSilenceMs = (last: number | null): number => (last === null ? Infinity : 100);
  const { signal } = new AbortController();
  const options = { program: await stuckProgram(folder.path), onProgress: () => undefined, signal, mostSilenceMs };
  await assert.rejects(runInProcess<number, unknown>({}, options), JobTooSlowError);
});
