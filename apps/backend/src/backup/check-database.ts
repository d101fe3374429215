import { Kysely } from 'kysely';
import type { BackupManifest } from '@station/protocol/backups';
import { ownValue } from '@station/protocol/own-value';
import { move } from './adapters/backup-files.ts';
import {
  copyRows,
  openForeignFile,
  openMemoryDatabase,
  plainColumns,
  readSchema,
  type SchemaObject,
} from './adapters/sqlite-schema.ts';
import {
  countRows,
  findDamageInCopy,
  isDamage,
  openSqliteFile,
  readTextsOf,
  type SqliteDatabase,
} from '../core/adapters/sqlite.ts';
import { createSqliteDialect } from '../core/adapters/sqlite-dialect.ts';
import { migrate, type StationMigration } from '../store/migrate.ts';
import { migrations } from '../store/migrations/all.ts';
import { BackupRefused } from './backup-refused.ts';
import { checkRows } from './check-rows.ts';
import { compareSchemas, isPassive } from './schema-decide.ts';

/**
 * Checks the database of a backup: its schema before anything of it is executed, then every page, then its rows against the manifest.
 * After a rollback a database has parts of the newer release: only what this release knows of it is kept, in a new file.
 * @throws BackupRefused
 */
export async function checkDatabase(file: string, manifest: BackupManifest): Promise<void> {
  const { done, isKnown } = await asDamage(() => checkSchema(file));
  if (done.toSorted().join() !== manifest.migrations.toSorted().join()) throw notAsDescribed();
  if (!isKnown) await asDamage(() => keepKnownPart(file, done));
  const damage = findDamageInCopy(file);
  if (damage !== null) throw new BackupRefused('damaged', new Error(damage));
  checkRows(file, manifest.stationId);
  const rows = Object.entries(countRows(file)).filter(([table]) => !table.startsWith('kysely_'));
  if (!rows.every(([table, count]) => ownValue(manifest.rows, table) === count)) throw notAsDescribed();
}

const notAsDescribed = (): BackupRefused =>
  new BackupRefused('damaged', new Error('The database is not the one that the manifest describes'));

async function asDamage<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw isDamage(error) || isConstraint(error) ? new BackupRefused('damaged', error) : error;
  }
}

/** sqlite.org/rescode.html: SQLITE_CONSTRAINT. */
const isConstraint = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === 19;

/** More migrations than any release has. */
const mostMigrations = 1_000;

/** @returns migrations in the order in which they were run; whether this release knows all of them. */
async function checkSchema(file: string): Promise<{ done: string[]; isKnown: boolean }> {
  using database = openForeignFile(file);
  const found = readSchema(database);
  if (found === null || !isPassive(found)) throw foreign('more than tables and indices');
  const list = (objects: readonly SchemaObject[]) => objects.filter(({ table }) => table === 'kysely_migration');
  const listed = compareSchemas(list(found), list(await schemaAfter([])));
  // The list of migrations is a plain table, so reading it executes nothing.
  if (listed.kind === 'foreign') throw foreign(listed.what);
  const query = `select name from kysely_migration order by timestamp, name limit ${mostMigrations}`;
  const done = readTextsOf(database, query).map(({ name }) => String(name));
  if (!done.every((name) => migrations.some((known) => known.name === name))) return { done, isKnown: false };
  const verdict = compareSchemas(found, await schemaAfter(done));
  if (verdict.kind === 'foreign') throw foreign(verdict.what);
  return { done, isKnown: true };
}

const foreign = (what: string): BackupRefused => new BackupRefused('foreign_schema', new Error(what));

async function schemaAfter(done: readonly string[]): Promise<SchemaObject[]> {
  const database = openMemoryDatabase();
  await using _db = await migrated(database, done);
  return readSchema(database) ?? [];
}

/** @param done names in the order in which they were run: the order of columns depends on it. */
async function migrated(database: SqliteDatabase, done: readonly string[]): Promise<AsyncDisposable> {
  const db = new Kysely<unknown>({ dialect: createSqliteDialect(database, () => undefined) });
  await using opening = new AsyncDisposableStack();
  opening.defer(() => db.destroy());
  const taken: StationMigration[] = [];
  for (const [at, name] of done.entries()) {
    taken.push(...migrations.filter((migration) => migration.name === name));
    const next = done[at + 1];
    // One call for each ascending run: a fix of an older release sorts before migrations that ran earlier.
    if (next === undefined || next < name) await migrate(db, taken);
  }
  if (done.length === 0) await migrate(db, []);
  const opened = opening.move();
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Replaces the file by one that this release's migrations made, with the rows of the tables that it knows. */
async function keepKnownPart(file: string, done: readonly string[]): Promise<void> {
  const known = done.filter((name) => migrations.some((migration) => migration.name === name));
  const kept = `${file}.known`;
  {
    const database = openSqliteFile(kept);
    await using _db = await migrated(database, known);
    copyRows(file, database, columnsToCopy(file, database));
    const names = JSON.stringify(known);
    database.prepare('delete from kysely_migration where name not in (select value from json_each(?))').run(names);
  }
  await move(kept, file);
}

/** @throws BackupRefused when a column is missing in the file, or computed. */
function columnsToCopy(file: string, expected: SqliteDatabase): Map<string, string[]> {
  using given = openForeignFile(file);
  const tables = (readSchema(expected) ?? []).filter(({ type }) => type === 'table');
  return new Map(
    tables.map(({ name }) => {
      const columns = plainColumns(expected, name);
      const there = plainColumns(given, name);
      const missing = columns.find((column) => !there.includes(column));
      if (missing !== undefined) throw foreign(`missing: ${name}.${missing}`);
      return [name, columns];
    }),
  );
}
