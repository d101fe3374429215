import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { sql } from 'kysely';
import { systemClock } from '@station/kit/clock';
import { readChunks } from './adapters/backup-files.ts';
import { takeSnapshot } from '../core/adapters/database-snapshot.ts';
import { decryptAge, encryptAge } from './age.ts';
import { runBackupCommand } from './backup-command.ts';
import { runBackupJob } from './run-backup-job.ts';
import { addZone, backedUp, namesOf, passphrase, reasonOf, station } from '../../testing/backup/backup-station.ts';

const collect = async (content: AsyncIterable<Uint8Array>): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(content));

test('a database with a damaged page is refused, and leaves no file', async () => {
  await using own = await station();
  const to = join(own.dataDir, 'to');
  await mkdir(to);
  {
    await using store = await own.start();
    for (let zone = 0; zone < 500; zone++) await addZone(store, `Zone ${zone} ${'x'.repeat(100)}`);
  }
  const path = join(own.dataDir, 'station.sqlite');
  const content = await readFile(path);
  // Inside the table, and nowhere near the ones that are read for the manifest.
  const page = Math.floor(content.indexOf('Zone 250 ') / 4096);
  await writeFile(path, content.fill(0xff, page * 4096, page * 4096 + 64));
  assert.equal(reasonOf(await own.engine.make(join(to, 'a.age'), passphrase)), 'database_damaged');
  assert.deepEqual(await readdir(to), []);
});

test('what is written during a backup is not in it, whatever is checkpointed meanwhile', async () => {
  await using own = await station();
  const file = join(own.dataDir, '../a.age');
  await using store = await own.start();
  await addZone(store, 'Kitchen');
  const snapshot = await takeSnapshot(join(own.dataDir, 'station.sqlite'), {}, new AbortController().signal);
  assert.ok('facts' in snapshot);
  {
    await using held = snapshot;
    for (let zone = 0; zone < 100; zone++) await addZone(store, `Later ${zone}`);
    await sql`pragma wal_checkpoint(passive)`.execute(store.db);
    await writeFile(file, held.read());
    assert.equal(await held.damage, null);
  }
  assert.equal((await namesOf(store)).length, 101);
  using read = new DatabaseSync(file);
  assert.deepEqual(
    read
      .prepare('select name from zones')
      .all()
      .map(({ name }) => name),
    ['Kitchen'],
  );
});

test('a station on PostgreSQL is refused with what to do instead', async () => {
  await using own = await station({ isSupported: false });
  const outcome = await own.engine.make(join(own.dataDir, 'a.age'), passphrase);
  assert.equal(reasonOf(outcome), 'not_supported');
  const words: string[] = [];
  const exitCode = await runBackupCommand('backup', ['--to', join(own.dataDir, 'a.age')], {
    dataDir: own.dataDir,
    isSupported: false,
    version: '1.2.3',
    readAgentPart: async () => null,
    run: runBackupJob,
    clock: systemClock,
    signal: new AbortController().signal,
    output: { write: (text) => words.push(text), note: () => undefined, isTerminal: true },
  });
  assert.equal(exitCode, 1);
  assert.match(words.join(''), /PostgreSQL is backed up with pg_dump/);
});

test('an archive whose sums are not those of its files is refused', async () => {
  await using own = await station();
  const file = join(own.dataDir, 'a.age');
  const forged = join(own.dataDir, 'forged.age');
  await backedUp(own, file);
  const archive = await pipeline(
    () => readChunks(file),
    (sealed: AsyncIterable<Buffer>) => decryptAge(sealed, passphrase),
    createZstdDecompress(),
    collect,
  );
  const at = archive.lastIndexOf('  station.sqlite\n') - 1;
  archive[at] = archive[at] === 0x30 ? 0x31 : 0x30;
  const packed = await pipeline([archive], createZstdCompress(), (plain) => encryptAge(plain, passphrase), collect);
  await writeFile(forged, packed);
  assert.equal(reasonOf(await own.engine.verify(file, passphrase)), 'done');
  assert.equal(reasonOf(await own.engine.verify(forged, passphrase)), 'damaged');
});
