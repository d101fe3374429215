import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Kysely, sql } from 'kysely';
import { openSqliteFile } from '../../adapters/sqlite.ts';
import { createSqliteDialect } from '../../adapters/sqlite-dialect.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { migrate } from '../migrate.ts';
import type { Schema } from '../schema.ts';
import { migrations } from './all.ts';

const ownIndex = migrations.findIndex(({ name }) => name === '0044-device-descriptions');

test('each device keeps what was announced for its type, and older releases still find it', async () => {
  await using folder = await temporaryFolder();
  const file = openSqliteFile(join(folder.path, 'test.sqlite'));
  const db = new Kysely<Schema>({ dialect: createSqliteDialect(file, (error) => assert.ifError(error)) });
  await migrate(db as Kysely<unknown>, migrations.slice(0, ownIndex));
  for (const [id, type] of [
    ['a', 'door-lock'],
    ['b', 'door-lock'],
    ['c', 'light'],
    ['d', 'valve'],
  ])
    await sql`INSERT INTO devices (id, external_id, type, name, device_token, state, created_at)
      VALUES (${id}, ${`x-${id}`}, ${type}, ${id}, ${`token ${id}`}, '{}', 1)`.execute(db);
  const types = [
    { type: 'door-lock', definition: '{"type":"door-lock"}', source: 'handshake' as const, updated_at: 1 },
    { type: 'junk', definition: '{"type":"junk"}', source: 'handshake' as const, updated_at: 1 },
    { type: 'valve', definition: '{"type":"valve"}', source: 'manifest' as const, updated_at: 1 },
  ];
  await db.insertInto('device_types').values(types).execute();
  await migrate(db as Kysely<unknown>, migrations.slice(0, ownIndex + 1));
  assert.deepEqual(
    (await db.selectFrom('device_descriptions').selectAll().orderBy('device_id').execute()).map((row) => ({ ...row })),
    ['a', 'b'].map((id) => ({ device_id: id, definition: '{"type":"door-lock"}' })),
  );
  assert.equal((await db.selectFrom('device_types').selectAll().execute()).length, 3);
  await db.destroy();
});
