import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Kysely, sql } from 'kysely';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { createSqliteDialect } from './sqlite-dialect.ts';
import { openSqliteFile } from './sqlite.ts';

type Rows = { rows: { name: string } };

async function openFile() {
  await using opening = new AsyncDisposableStack();
  const file = join(opening.use(await temporaryFolder()).path, 'test.sqlite');
  const errors: unknown[] = [];
  const dialect = createSqliteDialect(openSqliteFile(file), (error) => errors.push(error));
  const db = new Kysely<Rows>({ dialect });
  opening.defer(() => db.destroy());
  await sql`create table rows (name text not null unique)`.execute(db);
  const opened = opening.move();
  return { file, db, errors, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** As a program that edits the file and has not saved. */
function lock(file: string): DatabaseSync {
  const other = new DatabaseSync(file);
  other.exec('begin immediate');
  return other;
}

const write = (db: Kysely<Rows>, name: string) => db.insertInto('rows').values({ name }).execute();
const read = async (db: Kysely<Rows>): Promise<string[]> =>
  (
    await db
      .selectFrom('rows')
      .select('name')
      .orderBy(sql`rowid`)
      .execute()
  ).map(({ name }) => name);

test('while another program holds the write lock, reads are answered and writes wait in their order', async () => {
  await using opened = await openFile();
  const { db, file, errors } = opened;
  await write(db, 'before');
  using other = lock(file);
  const transaction = db.transaction().execute(async (inside) => {
    await inside.insertInto('rows').values({ name: 'first' }).execute();
    await inside.insertInto('rows').values({ name: 'second' }).execute();
  });
  const writes = [transaction, write(db, 'third'), write(db, 'fourth')];
  for (let look = 0; look < 20; look += 1) assert.deepEqual(await read(db), ['before']);
  await db.transaction().setAccessMode('read only').execute(read);
  other.exec('rollback');
  await Promise.all(writes);
  assert.deepEqual(await read(db), ['before', 'first', 'second', 'third', 'fourth']);
  assert.deepEqual(errors, []);
});

test('a lock that stays fails the writes, is told, and spoils none that come after it', async () => {
  await using opened = await openFile();
  const { db, file, errors } = opened;
  using other = lock(file);
  const isLocked = { errcode: 5 };
  const refused = Promise.all([
    assert.rejects(write(db, 'lost'), isLocked),
    assert.rejects(
      db.transaction().execute((inside) => inside.insertInto('rows').values({ name: 'lost' }).execute()),
      isLocked,
    ),
  ]);
  await refused;
  assert.equal(errors.length, 2);
  other.exec('rollback');
  await write(db, 'later');
  assert.deepEqual(await read(db), ['later']);
});

test('a transaction has the connection for itself, and one that fails gives it back', async () => {
  await using opened = await openFile();
  const { db } = opened;
  const begun = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const failing = db.transaction().execute(async (inside) => {
    await inside.insertInto('rows').values({ name: 'undone' }).execute();
    begun.resolve();
    await go.promise;
    throw new Error('of the caller');
  });
  await begun.promise;
  let seen: string[] | null = null;
  const reading = read(db).then((names) => (seen = names));
  await new Promise(setImmediate);
  assert.equal(seen, null);
  go.resolve();
  await assert.rejects(failing, /of the caller/);
  assert.deepEqual(await reading, []);
  await assert.rejects(sql`no statement`.execute(db));
  await write(db, 'after');
  const names: string[] = [];
  for await (const { name } of db.selectFrom('rows').select('name').stream(1)) names.push(name);
  assert.deepEqual([names, await read(db)], [['after'], ['after']]);
});
