import { DatabaseSync } from 'node:sqlite';

/** An open database file. */
export type SqliteDatabase = DatabaseSync;

/** How long opening a file waits for another process (an old backend that is still stopping) before it fails. */
const busyTimeoutMs = 5_000;
/** Value of `pragma auto_vacuum` (sqlite.org/pragma.html). */
const incrementalVacuum = 2;
/** Reading more at start would take seconds on an SD card; larger files are fully read only after a sign of damage. */
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
    // Only affects a new file, and must come first: lets the file return deleted pages to the disk step by step. On other files it would
    // write a page, and a station whose disk is full could not start.
    if (pragma(database, 'auto_vacuum') !== incrementalVacuum) database.exec('pragma auto_vacuum = incremental');
    database.exec(`
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma wal_autocheckpoint = 4000;
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

/** Opens a database file that is in use, to read only: another connection of this process writes it. @throws SQLite's error. */
export function openSqliteReader(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: busyTimeoutMs, defensive: true });
  database.exec('pragma query_only = on; pragma cache_size = -2000; pragma trusted_schema = off;');
  return database;
}

/** @throws SQLite's error when the file cannot be written now, for example because another program has locked it. */
export function tryWriteLock(file: string): void {
  using database = new DatabaseSync(file, { timeout: 0 });
  database.exec('begin immediate; rollback;');
}

/**
 * Looks for damage.
 * @param thorough reads every page whatever the size of the file.
 * @returns a description of the damage, or null.
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
    leaveWriteAheadLog(file);
    database = new DatabaseSync(file);
    return findDamage(database, true);
  } catch (error) {
    if (isDamage(error)) return error.message;
    throw error;
  } finally {
    database?.close();
  }
}

/** Makes a file that nobody uses one without a write-ahead log. */
function leaveWriteAheadLog(file: string): void {
  using database = new DatabaseSync(file);
  database.exec('pragma journal_mode = delete');
}

/** True when there is no table at all: a new file, or one that a power cut left without content. */
export function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('select 1 from sqlite_schema limit 1').get() === undefined;
}

/** Rows of a query on a file, whose columns are all texts. */
export function readTexts(file: string, sql: string): Record<string, string>[] {
  using database = new DatabaseSync(file, { timeout: busyTimeoutMs });
  return readTextsOf(database, sql);
}

export const readTextsOf = (database: SqliteDatabase, sql: string): Record<string, string>[] =>
  database.prepare(sql).all() as Record<string, string>[];

/** Rows of each table of a file that nobody uses, without the tables of SQLite. */
export function countRows(file: string): Record<string, number> {
  using database = new DatabaseSync(file);
  return countRowsOf(database);
}

export function countRowsOf(database: SqliteDatabase): Record<string, number> {
  const quoted = (name: unknown): string => `"${String(name).replaceAll('"', '""')}"`;
  const names = database
    .prepare(
      `select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name`,
    )
    .all()
    .map(({ name }) => String(name));
  const count = (name: string): number =>
    Number(database.prepare(`select count(*) as rows from ${quoted(name)}`).get()?.['rows']);
  return Object.fromEntries(names.map((name) => [name, count(name)]));
}

/** The only value of a pragma; null when there is none. */
export function pragma(database: SqliteDatabase, name: string): unknown {
  const row = database.prepare(`pragma ${name}`).get();
  return row === undefined ? null : Object.values(row)[0];
}

/** SQLite result codes (sqlite.org/rescode.html) that mean the file itself is broken. */
const sqliteCorrupt = 11;
const sqliteNotADatabase = 26;

/** True when SQLite says that the file is not a database or is damaged. */
export function isDamage(error: unknown): error is Error {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false;
  // The low byte is the primary code; the rest makes it an extended one.
  const primary = error.errcode & 0xff;
  return primary === sqliteCorrupt || primary === sqliteNotADatabase;
}
