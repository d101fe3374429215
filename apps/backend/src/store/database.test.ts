import assert from 'node:assert/strict';
import { copyFile, mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { openStore, type Store } from './database.ts';
import type { StationMigration } from './migrate.ts';
import { migrations } from './migrations/all.ts';
import { unpackFile } from '../core/adapters/zstd.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

const newer: StationMigration = {
  name: '9000-newer',
  up: async (db) => {
    await db.schema.createTable('of_newer_release').addColumn('id', 'integer').execute();
  },
};

function open(file: string, logger = recordedLog(), known: readonly StationMigration[] = migrations): Promise<Store> {
  const config = { kind: 'sqlite', file } as const;
  return openStore({
    config,
    migrations: known,
    clock: systemClock,
    disk: nodeDisk,
    logger,
    onDamage: () => undefined,
  });
}

const writeSetting = (store: Store, key: string): Promise<unknown> =>
  store.db.insertInto('settings').values({ key, value: '1', updated_at: 0 }).execute();

const readSettings = async (store: Store): Promise<string[]> =>
  (await store.db.selectFrom('settings').select('key').orderBy('key').execute()).map(({ key }) => key);

async function filesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).sort();
}

test('a new database syncs every commit to disk and only its owner can read it', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'data', 'station.sqlite');
  await using store = await open(file);
  const pragma = async (name: string): Promise<unknown> =>
    Object.values((await sql.raw(`pragma ${name}`).execute(store.db)).rows[0] as object)[0];
  assert.equal(await pragma('journal_mode'), 'wal');
  assert.equal(await pragma('synchronous'), 2);
  assert.equal(await pragma('foreign_keys'), 1);
  assert.equal((await stat(file)).mode & 0o077, 0);
  assert.equal((await stat(join(folder.path, 'data'))).mode & 0o077, 0);
  assert.equal(await store.answers(), true);
});

test('a copy is taken before a pending migration, and an older release starts on the result', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'station.sqlite');
  {
    await using store = await open(file);
    await writeSetting(store, 'before');
  }
  const logger = recordedLog();
  {
    await using store = await open(file, logger, [...migrations, newer]);
    await writeSetting(store, 'after');
  }
  assert.equal(logger.events('database_copied').length, 1);
  assert.deepEqual(logger.events('database_migrated')[0]?.['migrations'], ['9000-newer']);
  const [copy] = await filesIn(join(folder.path, 'station-copies'));
  assert.match(copy ?? '', /^station-\d{8}T\d{9}Z-migration\.sqlite\.zst$/);
  const unpacked = join(folder.path, 'unpacked.sqlite');
  await unpackFile(join(folder.path, 'station-copies', copy ?? ''), unpacked);
  using opened = new DatabaseSync(unpacked);
  assert.deepEqual({ ...opened.prepare('select count(*) as n from settings').get() }, { n: 1 });

  const olderLog = recordedLog();
  await using older = await open(file, olderLog);
  assert.deepEqual(olderLog.events('database_newer')[0]?.['unknownMigrations'], ['9000-newer']);
  assert.deepEqual(await readSettings(older), ['after', 'before']);
});

test('only the last three copies are kept, and remains of an interrupted copy are deleted', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'station.sqlite');
  const known = [...migrations];
  for (let round = 0; round < 6; round++) {
    await using _store = await open(file, recordedLog(), known);
    known.push({ name: `9${round}00-empty`, up: async () => undefined });
    if (round === 3) await writeFile(join(folder.path, 'station-copies', '.station-x-migration.sqlite.zst.tmp'), 'cut');
  }
  const copies = await filesIn(join(folder.path, 'station-copies'));
  assert.equal(copies.length, 3, copies.join(' '));
});

type Damage = { what: string; break: (file: string) => Promise<void> };
const damages: Damage[] = [
  { what: 'another content', break: (file) => writeFile(file, 'this is not a database, it is a text of some length') },
  { what: 'a broken page', break: (file) => breakPages(file) },
  {
    what: 'half of the file',
    break: async (file) => truncate(file, Math.floor((await stat(file)).size / 2 / 4096) * 4096),
  },
  { what: 'no content', break: (file) => truncate(file, 0) },
];

async function breakPages(file: string): Promise<void> {
  const bytes = await readFile(file);
  bytes.fill(0xa5, 4096);
  await writeFile(file, bytes);
}

for (const { what, break: damage } of damages) {
  test(`a database file with ${what} is renamed and the latest copy replaces it`, async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'station.sqlite');
    {
      await using store = await open(file);
      await writeSetting(store, 'kept');
    }
    {
      await using store = await open(file, recordedLog(), [...migrations, newer]);
      await writeSetting(store, 'lost with the damaged file');
    }
    await damage(file);
    const damagedContent = await readFile(file);

    const logger = recordedLog();
    await using store = await open(file, logger, [...migrations, newer]);
    assert.deepEqual(await readSettings(store), ['kept']);
    assert.equal(logger.events('database_damaged')[0]?.level, 'error');
    const restored = logger.events('database_restored')[0];
    assert.equal(restored?.level, 'error');
    assert.match(String(restored?.['copy']), /migration\.sqlite\.zst$/);
    const aside = join(folder.path, String(restored?.['damaged']));
    // SQLite writes a header to an empty file as soon as it opens it.
    if (damagedContent.length > 0) assert.deepEqual(await readFile(aside), damagedContent);
    assert.deepEqual(
      (await filesIn(folder.path)).filter((name) => /replacing|restored|suspected|tmp/.test(name)),
      [],
    );
  });
}

test('a damaged copy is skipped in favour of an older good one', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'station.sqlite');
  const known = [...migrations];
  for (const round of ['first', 'second', 'third']) {
    await using store = await open(file, recordedLog(), known);
    await writeSetting(store, round);
    known.push({ name: `9-${round}`, up: async () => undefined });
  }
  const [older, newest] = await filesIn(join(folder.path, 'station-copies'));
  await breakPages(join(folder.path, 'station-copies', newest ?? ''));
  await breakPages(file);
  const logger = recordedLog();
  await using store = await open(file, logger);
  assert.equal(logger.events('database_restored')[0]?.['copy'], older);
  assert.deepEqual(await readSettings(store), ['first']);
});

test('a copy that cannot be read is skipped in favour of an older one', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'station.sqlite');
  {
    await using store = await open(file);
    await writeSetting(store, 'kept');
  }
  {
    await using _copied = await open(file, recordedLog(), [...migrations, newer]);
  }
  const copies = join(folder.path, 'station-copies');
  const [older] = await filesIn(copies);
  // Reading a folder fails in the same call as reading a bad sector.
  await mkdir(join(copies, 'station-20991231T235959999Z-daily.sqlite.zst'));
  await breakPages(file);
  const logger = recordedLog();
  await using store = await open(file, logger);
  assert.equal(logger.events('database_restored')[0]?.['copy'], older);
  assert.deepEqual(await readSettings(store), ['kept']);
});

test('without any copy the damaged file is kept and the empty start is logged at level error', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'station.sqlite');
  await writeFile(file, 'not a database at all, certainly not one');
  const logger = recordedLog();
  await using _store = await open(file, logger);
  const [event] = logger.events('database_started_empty');
  assert.equal(event?.level, 'error');
  assert.match(await readFile(join(folder.path, String(event?.['damaged'])), 'utf8'), /certainly not one/);
});

test('after a power cut, the next start finishes the replacement of a damaged file', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'station.sqlite');
  {
    await using store = await open(file);
    await writeSetting(store, 'kept');
  }
  // The state that replaceBy leaves after its marker: the log is moved, the damaged file is not.
  await copyFile(file, `${file}.restored`);
  await writeFile(`${file}.replacing`, `${file}.damaged-20260101T000000000Z`);
  await writeFile(`${file}.damaged-20260101T000000000Z-wal`, 'log of the damaged file');
  {
    await using damaged = await open(join(folder.path, 'other.sqlite'));
    await writeSetting(damaged, 'would look sound');
  }
  await copyFile(join(folder.path, 'other.sqlite'), file);

  await using store = await open(file);
  assert.deepEqual(await readSettings(store), ['kept']);
  const names = await filesIn(folder.path);
  assert.ok(names.includes('station.sqlite.damaged-20260101T000000000Z'));
  assert.ok(!names.some((name) => /replacing|restored/.test(name)));
});

test('a file without read permission is an error, not a reason to replace it', async () => {
  await using folder = await temporaryFolder();
  await assert.rejects(open(join(folder.path, 'station.sqlite', 'is', 'a', 'file', '\0')));
  const directory = join(folder.path, 'station.sqlite');
  await writeFile(join(folder.path, 'blocker'), '');
  await assert.rejects(open(join(folder.path, 'blocker', 'station.sqlite')));
  assert.ok(!(await filesIn(folder.path)).some((name) => name.includes('damaged')), directory);
});

test('damage found while the database is in use is logged, and repaired at the next start', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'station.sqlite');
  {
    await using store = await open(file);
    await fill(store);
  }
  {
    await using _copied = await open(file, recordedLog(), [...migrations, newer]);
  }
  const logger = recordedLog();
  const told = Promise.withResolvers<void>();
  {
    const config = { kind: 'sqlite', file } as const;
    const known = [...migrations, newer];
    await using store = await openStore({
      config,
      migrations: known,
      clock: systemClock,
      disk: nodeDisk,
      logger,
      onDamage: told.resolve,
    });
    await breakPages(file);
    await assert.rejects(sql`select sum(length(value)) from settings`.execute(store.db));
    await told.promise;
    assert.equal(logger.events('database_damaged').length, 1);
  }
  const nextLog = recordedLog();
  await using store = await open(file, nextLog);
  assert.equal(nextLog.events('database_restored').length, 1);
  assert.equal((await readSettings(store)).length, 2_000);
});

/** Larger than the page cache, so that a query reads the file. */
async function fill(store: Store): Promise<void> {
  const rows = Array.from({ length: 2_000 }, (_, index) => ({
    key: `k${index}`,
    value: 'v'.repeat(4_000),
    updated_at: 0,
  }));
  for (let from = 0; from < rows.length; from += 200) {
    await store.db
      .insertInto('settings')
      .values(rows.slice(from, from + 200))
      .execute();
  }
}
