import type { Kysely } from 'kysely';
import { Migrator, type Migration } from 'kysely/migration';

/**
 * A step of the schema. The rule is expand, then contract: an agent rolls a station back to an older backend at any moment, and
 * that backend must work with the newer schema. So a migration may add tables, indices, and columns that are nullable or have a default.
 * A later release removes what older releases still use, once no rollback can reach those releases; that migration sets `requires`.
 */
export type StationMigration = {
  /** `NNNN-name`; sorts in order of age. */
  name: string;
  /** Name of the oldest migration that code must know to work after this one. Unset: older code keeps working. */
  requires?: string;
  up(db: Kysely<unknown>): Promise<void>;
};

export type SchemaState = {
  /** Names still to be run, in order. */
  pending: string[];
  /** Run on this database, but by a newer release: this one does not know them. */
  unknown: string[];
  /** No migration was ever run. */
  isNew: boolean;
};

/** The database was changed by a newer release in a way that this one cannot work with. */
export class SchemaTooNewError extends Error {
  constructor(requires: string) {
    super(`The database needs a newer release: one that knows migration ${requires}`);
    this.name = 'SchemaTooNewError';
  }
}

const executedTable = 'kysely_migration';
/** What unknown migrations require of older code; those migrations write it, the older code reads it. */
const requirementsTable = 'schema_requirements';
/** Another release may migrate between our comparison and our migration; then we compare again. */
const attempts = 3;

/** Compares the database with the migrations this release knows. Changes nothing. */
export async function readSchemaState(db: Kysely<unknown>, known: readonly StationMigration[]): Promise<SchemaState> {
  const executed = await readExecuted(db);
  const names = known.map(({ name }) => name);
  return {
    pending: names.filter((name) => !executed.includes(name)),
    unknown: executed.filter((name) => !names.includes(name)),
    isNew: executed.length === 0,
  };
}

/**
 * Runs the pending migrations in one transaction.
 *
 * Kysely's Migrator refuses a database with unknown migrations. After a rollback that is the normal case, so the unknown ones are
 * declared as done. If one of them `requires` more than this release knows, it is refused here with a clear error.
 * @returns names of the migrations that were run.
 * @throws SchemaTooNewError, or the database's error; nothing was changed then.
 */
export async function migrate(db: Kysely<unknown>, known: readonly StationMigration[]): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    const { unknown, pending, isNew } = await readSchemaState(db, known);
    if (!isNew && pending.length === known.length)
      throw new Error('The database was made before the first release; no release can use it');
    await refuseTooNew(db, known, unknown);
    const { error, results } = await new Migrator({
      db,
      provider: { getMigrations: async () => ({ ...asKnown(known), ...asDone(unknown) }) },
      // A fix of an older release may bring a migration that sorts before one which a newer release ran.
      allowUnorderedMigrations: true,
    }).migrateToLatest();
    if (error === undefined) return (results ?? []).map(({ migrationName }) => migrationName);
    const changed = (await readSchemaState(db, known)).unknown.length !== unknown.length;
    if (!changed || attempt >= attempts) throw new Error('The database could not be migrated', { cause: error });
  }
}

function asKnown(known: readonly StationMigration[]): Record<string, Migration> {
  const entries = known.map((migration) => {
    const up = async (db: Kysely<unknown>): Promise<void> => {
      await migration.up(db);
      if (migration.requires !== undefined) await writeRequirement(db, migration.name, migration.requires);
    };
    return [migration.name, { up }] as const;
  });
  return Object.fromEntries(entries);
}

function asDone(unknown: readonly string[]): Record<string, Migration> {
  const up = async (): Promise<void> => {
    throw new Error('A migration of a newer release cannot be run by this one');
  };
  return Object.fromEntries(unknown.map((name) => [name, { up }]));
}

async function refuseTooNew(
  db: Kysely<unknown>,
  known: readonly StationMigration[],
  unknown: readonly string[],
): Promise<void> {
  if (unknown.length === 0 || !(await hasTable(db, requirementsTable))) return;
  const rows = await asTables(db).selectFrom(requirementsTable).select(['migration', 'requires']).execute();
  const missing = rows.find(
    ({ migration, requires }) => unknown.includes(migration) && !known.some(({ name }) => name === requires),
  );
  if (missing) throw new SchemaTooNewError(missing.requires);
}

async function writeRequirement(db: Kysely<unknown>, migration: string, requires: string): Promise<void> {
  await db.schema
    .createTable(requirementsTable)
    .ifNotExists()
    .addColumn('migration', 'text', (column) => column.primaryKey())
    .addColumn('requires', 'text', (column) => column.notNull())
    .execute();
  await asTables(db).insertInto(requirementsTable).values({ migration, requires }).execute();
}

async function readExecuted(db: Kysely<unknown>): Promise<string[]> {
  if (!(await hasTable(db, executedTable))) return [];
  const rows = await asTables(db).selectFrom(executedTable).select('name').orderBy('name').execute();
  return rows.map(({ name }) => name);
}

async function hasTable(db: Kysely<unknown>, name: string): Promise<boolean> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  return tables.some((table) => table.name === name);
}

type MigrationTables = {
  [executedTable]: { name: string };
  [requirementsTable]: { migration: string; requires: string };
};

const asTables = (db: Kysely<unknown>): Kysely<MigrationTables> => db;
