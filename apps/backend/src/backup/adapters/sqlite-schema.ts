import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { SqliteDatabase } from '../../core/adapters/sqlite.ts';

/** A row of `sqlite_schema`. `sql` is null for the index of a primary key or a unique constraint. */
export type SchemaObject = { type: string; name: string; table: string; sql: string | null };

/** No row of a station comes near this, and no statement of its schema. */
const limits = { length: 16 * 1024 * 1024, sqlLength: 1024 * 1024 };
/** Of all databases of the process, which does nothing else: what is beyond that is an error instead of the end of the backend beside it. */
const heapBytes = 96 * 1024 * 1024;
const mostObjects = 10_000;

/**
 * Opens a file that came from outside, to read only: nothing in it is executed until its schema is known (sqlite.org/security.html).
 * Nobody else uses it, and it has no write-ahead log beside it. @throws SQLite's error.
 */
export function openForeignFile(file: string): SqliteDatabase {
  const address = pathToFileURL(file);
  address.searchParams.set('immutable', '1');
  const database = new DatabaseSync(address, {
    readOnly: true,
    defensive: true,
    enableDoubleQuotedStringLiterals: false,
    limits,
  });
  try {
    database.exec(`
      pragma trusted_schema = off;
      pragma cell_size_check = on;
      pragma mmap_size = 0;
      pragma hard_heap_limit = ${heapBytes};
    `);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** An empty database of this process. */
export const openMemoryDatabase = (): SqliteDatabase => new DatabaseSync(':memory:', { defensive: true });

/** Everything that a database defines, by type and name; null: more than any release of a station defines. */
export function readSchema(database: SqliteDatabase): SchemaObject[] | null {
  const rows = database
    .prepare(
      `select type, name, tbl_name as "table", sql from sqlite_schema order by type, name limit ${mostObjects + 1}`,
    )
    .all();
  return rows.length > mostObjects ? null : (rows as SchemaObject[]);
}

/**
 * Copies rows of a file into a database whose schema is known; those of its tables are removed first.
 * @param columns of each table. They must be plain ones in the file: an index of it is not used, and no expression of it is computed.
 * @throws SQLite's error, such as a violated constraint.
 */
export function copyRows(from: string, into: SqliteDatabase, columns: ReadonlyMap<string, readonly string[]>): void {
  const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
  into.exec('pragma foreign_keys = off');
  into.prepare('attach database ? as given').run(from);
  into.exec('begin');
  for (const [table, names] of columns) {
    const list = names.map(quoted).join(', ');
    into.exec(`delete from main.${quoted(table)}`);
    into.exec(`insert into main.${quoted(table)} (${list}) select ${list} from given.${quoted(table)} not indexed`);
  }
  into.exec('commit');
  into.exec('detach database given');
}

/** Plain columns of a table: none that is computed. */
export function plainColumns(database: SqliteDatabase, table: string): string[] {
  return database
    .prepare(`select name from pragma_table_xinfo(?) where hidden = 0`)
    .all(table)
    .map(({ name }) => String(name));
}
