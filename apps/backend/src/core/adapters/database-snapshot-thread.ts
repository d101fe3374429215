import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { countRowsOf, findDamage, isDamage, pragma, readTextsOf } from './sqlite.ts';

/** What a thread of `database-snapshot.ts` does; it holds the snapshot until it is ended. */

export type SnapshotFacts = {
  /** Size of the database. */
  bytes: number;
  /** Of each table, without those of SQLite. */
  rows: Record<string, number>;
  /** Rows of each query. */
  texts: Record<string, Record<string, string>[]>;
};

export type SnapshotMessage =
  | { kind: 'held'; facts: SnapshotFacts }
  /** Null: every page is as it must be. */
  | { kind: 'checked'; damage: string | null };

const { file, queries } = workerData as { file: string; queries: Record<string, string> };
const timeout = 5_000;
/** Of another process that reads everything, such as a doctor. */
const waitMs = 5 * 60_000;
const retryMs = 20;

const post = (message: SnapshotMessage): void => parentPort?.postMessage(message);

/**
 * Begins a read transaction whose whole content is in the file itself, none in the write-ahead log. While it lasts, nobody writes to the
 * file: a checkpoint copies nothing that is newer than the oldest reader (sqlite.org/walformat.html, "WAL locks"; "Checkpoints").
 */
async function hold(reader: DatabaseSync, signal: AbortSignal): Promise<void> {
  // A second connection: a transaction cannot contain a checkpoint.
  using other = new DatabaseSync(file, { timeout });
  reader.exec('pragma query_only = on');
  for (let left = waitMs; left > 0; left -= retryMs) {
    // Most of the log, so that little is left inside the transaction.
    other.exec('pragma wal_checkpoint(passive)');
    reader.exec('begin');
    reader.prepare('select count(*) from sqlite_schema').get();
    // In the file: everything that was written until now, so everything that the transaction sees. Busy: another checkpoint writes there.
    const { busy, log, checkpointed } = other.prepare('pragma wal_checkpoint(passive)').get() ?? {};
    if (busy === 0 && log === checkpointed) return;
    // Written in between, or an older reader is there.
    reader.exec('rollback');
    await sleep(retryMs, undefined, { signal });
  }
  throw new Error('Another process reads the database without end');
}

function describe(reader: DatabaseSync): SnapshotFacts {
  const texts = Object.entries(queries).map(([name, sql]) => [name, readTextsOf(reader, sql)] as const);
  const bytes = Number(pragma(reader, 'page_count')) * Number(pragma(reader, 'page_size'));
  return { bytes, rows: countRowsOf(reader), texts: Object.fromEntries(texts) };
}

async function main(): Promise<void> {
  const ending = new AbortController();
  const ended = new Promise((resolve) => parentPort?.once('message', resolve));
  void ended.then(() => ending.abort());
  using reader = new DatabaseSync(file, { timeout });
  await hold(reader, ending.signal);
  post({ kind: 'held', facts: describe(reader) });
  post({ kind: 'checked', damage: findDamage(reader, true) });
  await ended;
}

try {
  await main();
} catch (error) {
  if (!isDamage(error)) throw error;
  post({ kind: 'checked', damage: error.message });
}
