import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from 'kysely';
import { migrations } from '../store/migrations/all.ts';
import type { StationMigration } from '../store/migrate.ts';
import { alterBackup, readBackup } from '../../testing/backup/altered-backup.ts';
import {
  backedUp,
  contentsBackedUp,
  namesOf,
  oldStation,
  passphrase,
  reasonOf,
  station,
} from '../../testing/backup/backup-station.ts';

/** Each of them is complete, has right sums, and was made with the passphrase. */
const foreign: readonly { name: string; sql: string }[] = [
  {
    name: 'a trigger that keeps an old password',
    sql: `create trigger hidden after update of station_password_hash on users begin
      update users set station_password_hash = old.station_password_hash where id = new.id; end`,
  },
  {
    name: 'a trigger without end',
    sql: `create trigger spin before delete on sessions begin
      select count(*) from (with recursive c(x) as (select 1 union all select x + 1 from c) select x from c); end`,
  },
  {
    name: 'a table whose check takes hours',
    sql: `create table slow (a text, b integer generated always as (length(replace(hex(zeroblob(100000)), '0', '00')))
      virtual check (b > 0)); insert into slow (a) values ('x')`,
  },
  { name: 'a view', sql: 'create view answers as select * from users' },
  {
    name: 'a view in the place of a table',
    sql: `alter table zones rename to real_zones; create view zones as select * from real_zones`,
  },
  { name: 'a virtual table', sql: 'create virtual table words using fts5(text)' },
  { name: 'an index', sql: `create unique index one_person on users ((1))` },
  { name: 'a column', sql: `alter table users add column note text default 'x'` },
  {
    name: 'a computed column',
    sql: `alter table zones add column slow integer generated always as (length(hex(zeroblob(100000)))) virtual`,
  },
  { name: 'no table of zones', sql: 'drop table zones' },
  {
    name: 'a list of migrations that is computed',
    sql: `alter table kysely_migration rename to real_migration; create view kysely_migration as select * from real_migration`,
  },
];

test('a database with anything that no release makes is refused before it is used, and nothing changes', async (t) => {
  await using old = await station();
  const good = await contentsBackedUp(old);
  await using own = await station();
  await (await own.start({ stationId: oldStation }))[Symbol.asyncDispose]();
  const before = (await readdir(own.dataDir)).sort();
  for (const { name, sql: statement } of foreign)
    await t.test(name, async () => {
      const file = join(old.dataDir, 'altered.age');
      await alterBackup(good, file, passphrase, { sql: statement });
      assert.equal(reasonOf(await old.engine.verify(file, passphrase)), 'foreign_schema');
      assert.equal(reasonOf(await own.engine.restore(file, passphrase, null)), 'foreign_schema');
      assert.equal(reasonOf(await own.engine.restore(file, passphrase, ['people'])), 'foreign_schema');
      const after = (await readdir(own.dataDir)).filter((one) => one !== 'backup-work');
      assert.deepEqual(after.sort(), before);
    });
});

test('rows that the manifest does not name are refused', async () => {
  await using old = await station();
  const file = join(old.dataDir, 'altered.age');
  await alterBackup(await contentsBackedUp(old), file, passphrase, {
    edit: ({ manifest }) => void delete manifest.rows['users'],
  });
  assert.equal(reasonOf(await old.engine.verify(file, passphrase)), 'damaged');
});

/** Migrations of a newer release, which ran before a rollback. */
const newer: StationMigration = {
  name: '9999-newer',
  up: async (db) => {
    await db.schema.createTable('novelties').addColumn('id', 'text').execute();
    await db.schema.alterTable('zones').addColumn('novelty', 'text').execute();
    await sql`insert into novelties (id) values ('a')`.execute(db);
  },
};

/** Of an older release: it sorts before what a newer one ran. */
const fix: StationMigration = {
  name: '0002-fix',
  up: async (db) => {
    await db.schema.alterTable('zones').addColumn('repaired', 'text').execute();
  },
};

test('after a rollback the backup of the older release has what that release knows', async () => {
  await using old = await station();
  const file = join(old.dataDir, 'a.age');
  const known = migrations as StationMigration[];
  known.push(newer);
  try {
    await (await old.start({ stationId: oldStation }))[Symbol.asyncDispose]();
  } finally {
    known.pop();
  }
  await backedUp(old, file);
  assert.equal(reasonOf(await old.engine.verify(file, passphrase)), 'done');
  await using fresh = await station();
  assert.equal(reasonOf(await fresh.engine.restore(file, passphrase, null)), 'done');
  await using store = await fresh.start();
  assert.deepEqual(await namesOf(store), ['Kitchen']);
  const { rows } = await sql<{
    name: string;
  }>`select name from sqlite_schema where name = 'novelties' or sql like '%novelty%'
    union select name from kysely_migration where name like '9999%'`.execute(store.db);
  assert.deepEqual(rows, []);
  const hidden = join(old.dataDir, 'hidden.age');
  await alterBackup(await readBackup(file, passphrase), hidden, passphrase, {
    sql: 'create trigger hidden after insert on zones begin delete from users; end',
  });
  assert.equal(reasonOf(await old.engine.verify(hidden, passphrase)), 'foreign_schema');
});

test('a fix that ran after newer migrations leaves columns in another order, and is accepted', async () => {
  await using own = await station();
  const known = migrations as StationMigration[];
  const file = join(own.dataDir, 'a.age');
  known.push(newer);
  try {
    await (await own.start({ stationId: oldStation }))[Symbol.asyncDispose]();
    known.push(fix);
    await (await own.start({ stationId: oldStation }))[Symbol.asyncDispose]();
    await backedUp(own, file);
    assert.equal(reasonOf(await own.engine.verify(file, passphrase)), 'done');
  } finally {
    known.splice(-2);
  }
});
