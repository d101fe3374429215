import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { openSqliteFile } from '../core/adapters/sqlite.ts';
import { unpackFile } from '../core/adapters/zstd.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { copyDatabase } from './copy-job.ts';

const { signal } = new AbortController();

async function filled() {
  const folder = await temporaryFolder();
  const file = join(folder.path, 'station.sqlite');
  const database = openSqliteFile(file);
  database.exec(`
    create table lamps (name text);
    with recursive steps(n) as (select 1 union all select n + 1 from steps where n < 5000)
    insert into lamps select 'lamp ' || n from steps
  `);
  return { folder, file, database, copy: join(folder.path, 'copy.zst') };
}

test('a copy has what was committed, is smaller, and only its owner may read it', async () => {
  const { folder, file, database, copy } = await filled();
  await using _folder = folder;
  using _database = database;
  database.exec("begin immediate; insert into lamps values ('not committed')");
  await copyDatabase(file, copy, signal);
  database.exec('commit');
  assert.equal((await stat(copy)).mode & 0o077, 0);
  assert.ok((await stat(copy)).size < (await stat(file)).size / 3);
  const unpacked = join(folder.path, 'unpacked.sqlite');
  await unpackFile(copy, unpacked);
  using opened = new DatabaseSync(unpacked);
  assert.equal(opened.prepare('select count(*) as n from lamps').get()?.['n'], 5_000);
});

test('a damaged database is not copied', async () => {
  const { folder, file, database, copy } = await filled();
  await using _folder = folder;
  database.close();
  const bytes = await readFile(file);
  await writeFile(file, bytes.fill(0xa5, 8_192, 12_288));
  await assert.rejects(copyDatabase(file, copy, signal), /The database is damaged/);
});

test('an error of the file system has its code', async () => {
  const { folder, file, database } = await filled();
  await using _folder = folder;
  using _database = database;
  await assert.rejects(copyDatabase(file, join(folder.path, 'none', 'copy.zst'), signal), { code: 'ENOENT' });
});

test('a stop ends it', async () => {
  const { folder, file, database, copy } = await filled();
  await using _folder = folder;
  using _database = database;
  await assert.rejects(copyDatabase(file, copy, AbortSignal.abort(new Error('stopped'))));
});
