import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { Inspection } from '../../core/doctor-facts.ts';
import { findDamage, isDamage } from '../../core/adapters/sqlite.ts';

type InspectionOptions = {
  /** Of a larger file only the schema is read, and no rows are counted. */
  mostBytes?: number;
  /** Counts the rows of each table, which takes as long as reading it. */
  countRows?: boolean;
};

/**
 * Reads every page of a database file and changes nothing, also beside the backend that uses it. Blocks this process for as long as
 * that takes: a minute for a gigabyte on an SD card.
 */
export function inspectSqliteFile(file: string, options: InspectionOptions = {}): Inspection {
  if (!existsSync(file)) return { kind: 'missing' };
  const found = inspect(file, isClosed(file), options);
  // A backend that started meanwhile changes pages under a reader that takes no lock.
  return found.kind === 'damaged' && !isClosed(file) ? inspect(file, false, options) : found;
}

/** Without a log beside it nobody has it open: it is then read without creating the files that readers share. */
const isClosed = (file: string): boolean => !existsSync(`${file}-wal`);

function inspect(file: string, isImmutable: boolean, options: InspectionOptions): Inspection {
  const { mostBytes = Infinity, countRows = false } = options;
  let database: DatabaseSync | null = null;
  try {
    const address = pathToFileURL(file);
    if (isImmutable) address.searchParams.set('immutable', '1');
    database = new DatabaseSync(address, { readOnly: true, timeout: 5_000 });
    const bytes = statSync(file).size;
    const isWhole = bytes <= mostBytes;
    const damage = findDamage(database, isWhole);
    if (damage !== null) return { kind: 'damaged', reason: damage };
    return {
      kind: 'good',
      bytes,
      isWhole,
      migrations: readMigrations(database),
      rows: countRows && isWhole ? readCounts(database) : {},
    };
  } catch (error) {
    if (isDamage(error)) return { kind: 'damaged', reason: error.message };
    return { kind: 'unreadable', reason: error instanceof Error ? error.message : 'unknown' };
  } finally {
    database?.close();
  }
}

const tablesOf = (database: DatabaseSync): string[] =>
  database
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name")
    .all()
    .map(({ name }) => String(name));

/** Names of the migrations that were run, oldest first. */
function readMigrations(database: DatabaseSync): string[] {
  if (!tablesOf(database).includes('kysely_migration')) return [];
  return database
    .prepare('select name from kysely_migration order by name')
    .all()
    .map(({ name }) => String(name));
}

function readCounts(database: DatabaseSync): Record<string, number> {
  const count = (table: string): number =>
    Number(database.prepare(`select count(*) as n from "${table.replaceAll('"', '""')}"`).get()?.['n'] ?? 0);
  return Object.fromEntries(tablesOf(database).map((table) => [table, count(table)]));
}
