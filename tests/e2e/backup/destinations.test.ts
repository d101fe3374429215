import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BackupView } from '@station/protocol/backup-api';
import { createApache } from '../../rig/apache.ts';
import { backendProgram } from '../../rig/build.ts';
import { run, tryRun, waitFor } from '../../rig/program.ts';
import { createSmallDisk } from '../../rig/small-disk.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { install, stationId, type Installation } from '../backend/installation.ts';

const passphrase = 'four plain words here';
const usual = { nightly: false, at: '03:00', keep: { daily: 7, weekly: 4 }, folder: false, webdav: null };

/** What the backup page does. */
async function startWith(station: Installation) {
  await station.startBackend();
  const headers = { authorization: `Bearer ${await station.logIn()}` };
  const json = { 'content-type': 'application/json' };
  const call = async (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${station.url}${path}`, {
      method,
      headers: { ...headers, ...(body ? json : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const view = async (): Promise<BackupView> => (await (await call('GET', '/api/backup')).json()) as BackupView;
  const change = async (settings: object): Promise<void> => {
    const answer = await call('PUT', '/api/backup/settings', { ...usual, passphrase, ...settings });
    assert.equal(answer.status, 200, await answer.text());
  };
  const begin = async (): Promise<void> =>
    assert.equal((await call('POST', '/api/backup', { passphrase })).status, 202);
  const ended = async (): Promise<BackupView> => {
    await waitFor('the backup to end', async () => !(await view()).isWorking, 600_000);
    return view();
  };
  const make = async (): Promise<BackupView> => {
    await begin();
    return ended();
  };
  return { call, view, change, begin, ended, make };
}

/** Content that does not compress, so that a backup takes a while. */
function fillHistory(dataDir: string, megabytes: number): void {
  using database = new DatabaseSync(join(dataDir, 'station.sqlite'));
  const [{ id } = { id: '' }] = database.prepare('select id from devices limit 1').all() as { id: string }[];
  const insert = database.prepare(
    'insert into device_transitions (device_id, capability, at, value) values (?, ?, ?, ?)',
  );
  database.exec('begin');
  for (let at = 0; at < megabytes * 1024; at++)
    insert.run(id, 'text', at + 1, JSON.stringify(randomBytes(768).toString('base64')));
  database.exec('commit');
}

/** Restores a file into a scratch folder, as `station-backend verify` does. */
async function verified(station: Installation, file: string): Promise<string> {
  const word = join(station.folder, 'word');
  await writeFile(word, `${passphrase}\n`);
  const args = [backendProgram, 'verify', file, '--passphrase-file', word];
  const { stdout } = await tryRun(process.execPath, args, { env: station.env });
  return (
    (JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '{}') as { outcome?: { kind: string } }).outcome?.kind ?? ''
  );
}

for (const kind of ['Basic', 'Digest'] as const) {
  test(`a backup goes to Apache's WebDAV with ${kind} authentication`, { timeout: 600_000 }, async () => {
    await using workspace = await createWorkspace();
    const login = { username: 'station', password: 'secret of the NAS' };
    const apache = await createApache(workspace, { ...login, kind });
    await using station = await install('the embedded broker and SQLite', { devices: 1 });
    const { call, change, make, view } = await startWith(station);
    const folder = join(apache.files, stationId);

    await change({ webdav: { ...login, url: apache.url, password: 'wrong' } });
    assert.equal((await make()).trouble?.reason, 'login_refused');
    await change({ webdav: { ...login, url: apache.url } });
    const { backups, trouble } = await make();
    assert.equal(trouble, null);
    const remote = backups.find(({ place }) => place === 'webdav');
    assert.ok(remote?.verifiedAt);
    assert.deepEqual(await readdir(folder), [remote.name]);
    assert.equal(await verified(station, join(folder, remote.name)), 'done');

    await apache.disk.fill();
    const full = await make();
    assert.deepEqual([full.trouble?.place, full.trouble?.reason], ['webdav', 'no_space']);
    await apache.disk.empty();
    const complete = (await readdir(folder)).filter((name) => name.endsWith('.age') && !name.startsWith('.'));
    assert.deepEqual(complete, [remote.name], 'no file looks complete that is not');

    assert.equal((await call('DELETE', `/api/backup/${remote.id}`)).status, 204);
    assert.equal((await readdir(folder)).includes(remote.name), false);
    await apache.stop();
    assert.deepEqual((await view()).faults, [{ place: 'webdav', reason: 'unreachable' }]);
    assert.equal((await readFile(join(station.folder, 'backend.log'), 'utf8')).includes(login.password), false);
  });
}

test(
  'a backup goes to a FAT stick, which is pulled out in the middle of the next one',
  { timeout: 600_000 },
  async () => {
    await using station = await install('the embedded broker and SQLite', { devices: 1 });
    const stick = join(station.folder, 'stick');
    const image = join(station.folder, 'stick.fat');
    const disk = await createSmallDisk({ image, folder: stick, megabytes: 64, kind: 'vfat' });
    station.env['BACKUP_DIR'] = stick;
    await station.startBackend();
    await station.logIn();
    await station.stopBackend('SIGTERM');
    fillHistory(station.dataDir, 12);
    const { begin, change, ended, make, view } = await startWith(station);
    const folder = join(stick, stationId);
    const complete = async (): Promise<string[]> =>
      (await readdir(folder)).filter((name) => name.endsWith('.age') && !name.startsWith('.'));

    await change({ folder: true });
    const first = await make();
    assert.equal(first.trouble, null);
    assert.deepEqual(
      await complete(),
      first.backups.map(({ name }) => name),
    );
    assert.equal(await verified(station, join(folder, first.backups[0]?.name ?? '')), 'done');

    const before = (await readdir(folder)).length;
    await begin();
    // Written under a temporary name, for a moment only.
    while ((await readdir(folder)).length === before) await nextTurn();
    await disk.detach();
    const away = await ended();
    assert.deepEqual([away.trouble?.place, away.trouble?.reason], ['folder', 'not_mounted']);
    assert.deepEqual(
      away.backups.map(({ place }) => place),
      ['station'],
      'it stays on the station',
    );
    assert.deepEqual(await readdir(stick), [], 'nothing is written where the stick was');
    assert.equal((await view()).folder, 'not_mounted');

    await run('fsck.vfat', ['-a', image]).catch(() => undefined);
    await disk.mount();
    assert.deepEqual(
      await complete(),
      first.backups.map(({ name }) => name),
      'no half file looks complete',
    );
    const back = await make();
    assert.equal(back.trouble, null);
    // One of each day is kept.
    const [newest = '', ...older] = await complete();
    assert.deepEqual(older, []);
    assert.notEqual(newest, first.backups[0]?.name);
    assert.equal(await verified(station, join(folder, newest)), 'done');
  },
);
