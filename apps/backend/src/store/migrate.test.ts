import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Dialect, Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { openSqliteFile } from '../core/adapters/sqlite.ts';
import { createSqliteDialect } from '../core/adapters/sqlite-dialect.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { postgresDatabase, postgresUrl } from '../../testing/test-postgres.ts';
import { migrate, readSchemaState, SchemaTooNewError, type StationMigration } from './migrate.ts';

type Notes = { notes: { id: number; text: string } };

const createNotes: StationMigration = {
  name: '0001-notes',
  up: async (db) => {
    await db.schema
      .createTable('notes')
      .addColumn('id', 'integer', (c) => c.primaryKey())
      .addColumn('text', 'text')
      .execute();
  },
};
const addColour: StationMigration = {
  name: '0003-colour',
  up: async (db) => {
    await db.schema
      .alterTable('notes')
      .addColumn('colour', 'text', (c) => c.notNull().defaultTo('white'))
      .execute();
  },
};
const fixOfOlderRelease: StationMigration = {
  name: '0002-index',
  up: async (db) => {
    await db.schema.createIndex('notes_text').on('notes').column('text').execute();
  },
};
const dropText: StationMigration = {
  name: '0004-drop-index-and-text',
  requires: '0003-colour',
  up: async (db) => {
    await db.schema.alterTable('notes').dropColumn('text').execute();
  },
};

async function openDatabase(): Promise<AsyncDisposable & { db: Kysely<unknown> }> {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(await temporaryFolder());
  const dialect = postgresUrl === null ? sqlite(folder.path) : await postgres(postgresUrl, folder.path, opening);
  const db = new Kysely<unknown>({ dialect });
  opening.defer(() => db.destroy());
  const opened = opening.move();
  return { db, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const sqlite = (folder: string): Dialect =>
  createSqliteDialect(openSqliteFile(join(folder, 'test.sqlite')), (error) => assert.ifError(error));

async function postgres(server: string, owner: string, opening: AsyncDisposableStack): Promise<Dialect> {
  const { url } = opening.use(await postgresDatabase(server, owner));
  const pool = new pg.Pool({ connectionString: url });
  // The database is dropped while the last connections to it are still closing.
  pool.on('error', () => undefined).on('connect', (client) => client.on('error', () => undefined));
  return new PostgresDialect({ pool });
}

test('runs what is pending, once', async () => {
  await using opened = await openDatabase();
  const { db } = opened;
  assert.deepEqual(await readSchemaState(db, [createNotes]), { pending: ['0001-notes'], unknown: [], isNew: true });
  assert.deepEqual(await migrate(db, [createNotes]), ['0001-notes']);
  assert.deepEqual(await migrate(db, [createNotes]), []);
  assert.deepEqual(await migrate(db, [createNotes, addColour]), ['0003-colour']);
});

test('an older release reads and writes the schema of a newer one, and the newer one still works afterwards', async () => {
  await using opened = await openDatabase();
  const { db } = opened;
  await migrate(db, [createNotes, addColour]);

  const older = [createNotes];
  assert.deepEqual((await readSchemaState(db, older)).unknown, ['0003-colour']);
  assert.deepEqual(await migrate(db, older), []);
  const asOlder = db as Kysely<Notes>;
  await asOlder.insertInto('notes').values({ id: 1, text: 'written by the older one' }).execute();

  assert.deepEqual(await migrate(db, [createNotes, addColour]), []);
  const rows = await sql<{ text: string; colour: string }>`select text, colour from notes`.execute(db);
  assert.deepEqual({ ...rows.rows[0] }, { text: 'written by the older one', colour: 'white' });
});

test('a migration from a fix of the older release runs on the newer schema', async () => {
  await using opened = await openDatabase();
  await migrate(opened.db, [createNotes, addColour]);
  assert.deepEqual(await migrate(opened.db, [createNotes, fixOfOlderRelease]), ['0002-index']);
  assert.deepEqual(await migrate(opened.db, [createNotes, fixOfOlderRelease, addColour]), []);
});

test('a release that is too old for the schema is refused and changes nothing', async () => {
  await using opened = await openDatabase();
  await migrate(opened.db, [createNotes, addColour, dropText]);
  await assert.rejects(migrate(opened.db, [createNotes, fixOfOlderRelease]), SchemaTooNewError);
  assert.deepEqual((await readSchemaState(opened.db, [createNotes, fixOfOlderRelease])).pending, ['0002-index']);
  assert.deepEqual(await migrate(opened.db, [createNotes, addColour]), [], 'the release before still runs');
});

test('a database of a version before the first release is refused and not changed', async () => {
  await using opened = await openDatabase();
  const before: StationMigration = { ...createNotes, name: '0001-people' };
  await migrate(opened.db, [before]);
  await assert.rejects(migrate(opened.db, [addColour]), /made before the first release/);
  assert.deepEqual((await readSchemaState(opened.db, [before])).unknown, []);
});

test('a migration that fails leaves nothing behind, not even the ones before it', async () => {
  await using opened = await openDatabase();
  const broken: StationMigration = {
    name: '0002-broken',
    up: async (db) => {
      await db.schema.createTable('half').addColumn('id', 'integer').execute();
      await sql`select * from nowhere`.execute(db);
    },
  };
  await assert.rejects(migrate(opened.db, [createNotes, broken]), /could not be migrated/);
  const tables = (await opened.db.introspection.getTables()).map(({ name }) => name);
  assert.deepEqual(tables, []);
});
