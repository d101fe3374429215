import { backup, DatabaseSync } from 'node:sqlite';
import { isDamage } from './sqlite-dialect.ts';

/** How long a write waits for another process (an old backend that is still stopping) before it fails. */
const busyTimeoutMs = 5_000;
/** Reading more than this at start would cost seconds on an SD card; larger files are read in full only after a sign of damage. */
const alwaysCheckedBytes = 64 * 1024 * 1024;

/**
 * Opens (or creates) the database file for the backend: write-ahead log, every commit on disk before it is acknowledged.
 * @throws SQLite's error; `isDamage` tells a broken file from a full or read-only disk.
 */
export function openSqliteFile(file: string): DatabaseSync {
  const database = new DatabaseSync(file, {
    timeout: busyTimeoutMs,
    enableForeignKeyConstraints: true,
    defensive: true,
  });
  try {
    // Counts for a new file only, and must come first: what was deleted can be given back to the disk bit by bit.
    database.exec(`
      pragma auto_vacuum = incremental;
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma journal_size_limit = 16777216;
      pragma cache_size = -4000;
      pragma trusted_schema = off;
    `);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Looks for damage.
 * @param thorough reads every page whatever the size of the file.
 * @returns what is wrong, or null.
 * @throws errors that are not damage, such as a file that may not be read.
 */
export function findDamage(database: DatabaseSync, thorough: boolean): string | null {
  try {
    const bytes = Number(pragma(database, 'page_count')) * Number(pragma(database, 'page_size'));
    database.prepare('select count(*) from sqlite_schema').get();
    if (!thorough && bytes > alwaysCheckedBytes) return null;
    const result = pragma(database, 'quick_check(1)');
    return result === 'ok' ? null : String(result);
  } catch (error) {
    if (isDamage(error)) return error.message;
    throw error;
  }
}

/** Like `findDamage` for a file that is not open; it is left as one file without a write-ahead log. */
export function findDamageInCopy(file: string): string | null {
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(file);
    database.exec('pragma journal_mode = delete');
    return findDamage(database, true);
  } catch (error) {
    if (isDamage(error)) return error.message;
    throw error;
  } finally {
    database?.close();
  }
}

/** True when there is no table at all: a new file, or one that a power cut left without content. */
export function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('select 1 from sqlite_schema limit 1').get() === undefined;
}

/** Copies a database that nobody has open, page by page. Durable once `to` is synced. */
export async function copySqliteFile(from: string, to: string): Promise<void> {
  using source = new DatabaseSync(from, { readOnly: true });
  await backup(source, to);
}

function pragma(database: DatabaseSync, name: string): unknown {
  const row = database.prepare(`pragma ${name}`).get();
  return row === undefined ? null : Object.values(row)[0];
}
