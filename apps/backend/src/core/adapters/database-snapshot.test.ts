import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { takeSnapshot } from './database-snapshot.ts';

const snapshots = 6;
const accounts = 2_000;

/** Moves value between accounts, as fast as it can, and checkpoints often. */
const writer = `
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(process.argv[1], { timeout: 60000 });
  database.exec('pragma synchronous = off; pragma wal_autocheckpoint = 20');
  const move = database.prepare('update accounts set value = value + ?, note = ? where id = ?');
  const any = (below) => Math.floor(Math.random() * below);
  for (;;) {
    database.exec('begin immediate');
    for (const by of [1, -1]) move.run(by, 'x'.repeat(any(900)), 1 + any(${accounts}));
    database.exec('commit');
  }
`;

function fill(file: string): void {
  using database = new DatabaseSync(file);
  database.exec(`
    pragma journal_mode = wal;
    create table accounts (id integer primary key, value integer, note text);
    with recursive steps(n) as (select 1 union all select n + 1 from steps where n < ${accounts})
    insert into accounts select n, 100, '' from steps
  `);
}

const { signal } = new AbortController();

test('a snapshot is one moment while another process writes and checkpoints', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'a.sqlite');
  const copy = join(folder.path, 'copy.sqlite');
  fill(file);
  const other = spawn(process.execPath, ['-e', writer, file], { stdio: 'ignore' });
  try {
    for (let count = 0; count < snapshots; count++) {
      await using snapshot = await taken(file);
      await writeFile(copy, snapshot.read());
      assert.equal(await snapshot.damage, null);
      using database = new DatabaseSync(copy);
      assert.equal(database.prepare('select sum(value) as sum from accounts').get()?.['sum'], 100 * accounts);
    }
  } finally {
    const ended = once(other, 'exit');
    other.kill('SIGKILL');
    await ended;
  }
});

test('a file that somebody writes all the same is an error', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'a.sqlite');
  fill(file);
  await using snapshot = await taken(file);
  await utimes(file, new Date(), new Date((await stat(file)).mtimeMs + 1_000));
  await assert.rejects(Array.fromAsync(snapshot.read()), /was written while it was held/);
});

async function taken(file: string) {
  const snapshot = await takeSnapshot(file, {}, signal);
  assert.ok('facts' in snapshot);
  return snapshot;
}
