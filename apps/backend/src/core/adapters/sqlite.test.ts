import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { copyOpenDatabase, openSqliteFile, readTexts } from './sqlite.ts';

test('a copy that begins while a transaction writes waits for its end, and has what it wrote', async () => {
  await using folder = await temporaryFolder();
  using database = openSqliteFile(join(folder.path, 'station.sqlite'));
  database.exec("create table lamps (name text); begin immediate; insert into lamps values ('first')");
  const copy = join(folder.path, 'copy.sqlite');
  const copying = copyOpenDatabase(database, copy);
  await sleep(100);
  database.exec('commit');
  await copying;
  assert.deepEqual(
    readTexts(copy, 'select name from lamps').map(({ name }) => name),
    ['first'],
  );
});
