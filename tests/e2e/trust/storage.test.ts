import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startHostileWebdav } from '@station/backend/testing/backup/hostile-webdav';
import type { BackupView } from '@station/protocol/backup-api';
import { run, waitFor } from '../../rig/program.ts';
import { install, owner, stationId, type Installation } from '../backend/installation.ts';

// The storage of the backups is in other hands: a WebDAV server, and a stick that somebody has prepared.

const passphrase = 'four plain words here';
const usual = { nightly: false, at: '03:00', keep: { daily: 7, weekly: 4 }, folder: false, webdav: null, passphrase };
/** More than a view of backups takes, and much less than what a hostile storage sends. */
const mostGrowthBytes = 96 * 1024 * 1024;

async function startWith(station: Installation) {
  await station.startBackend();
  const authorization = `Bearer ${await station.logIn()}`;
  const call = async (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${station.url}${path}`, {
      method,
      headers: { authorization, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const view = async (): Promise<BackupView> => (await (await call('GET', '/api/backup')).json()) as BackupView;
  const change = async (settings: object): Promise<void> => {
    const answer = await call('PUT', '/api/backup/settings', { ...usual, ...settings });
    assert.equal(answer.status, 200, await answer.text());
  };
  const begin = async (): Promise<void> => assert.equal((await call('POST', '/api/backup', {})).status, 202);
  const ended = async (): Promise<BackupView> => {
    await waitFor('the backup to end', async () => !(await view()).isWorking, 600_000);
    return view();
  };
  /** A log-in needs the threads that a storage could keep. */
  const expectServed = async (): Promise<void> => {
    assert.equal((await call('GET', '/api/health')).status, 200);
    const { email, password } = owner;
    const answer = await call('POST', '/api/auth/login', { email, password });
    assert.equal(answer.status, 200, await answer.text());
  };
  return { call, view, change, begin, ended, expectServed };
}

async function peakBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

test('a hostile WebDAV server holds nothing up, and fills nothing', { timeout: 1_200_000 }, async () => {
  await using server = await startHostileWebdav();
  await using station = await install('the embedded broker and SQLite', { devices: 1 });
  const { call, view, change, begin, ended, expectServed } = await startWith(station);
  const pid = station.pid();
  await change({ webdav: { url: server.url, username: 'station', password: 'secret of the NAS' } });
  await view();
  await expectServed();
  const before = await peakBytes(pid);

  for (const what of ['endless listing', 'entities', 'many files'] as const) {
    server.do(what);
    assert.deepEqual((await view()).faults, [{ place: 'webdav', reason: 'failed' }], what);
  }
  server.do('endless file');
  const [{ id } = { id: '' }] = (await view()).backups;
  const answer = await call('POST', '/api/backup/restore', { backup: id, passphrase });
  assert.equal(answer.status, 503, await answer.text());
  assert.deepEqual(await readdir(join(station.dataDir, 'backup-uploads')), []);
  await expectServed();

  server.requests.length = 0;
  server.do('silent upload');
  await begin();
  await waitFor('the upload', () => server.requests.some((request) => request.startsWith('PUT ')) || null, 600_000);
  assert.equal((await call('POST', '/api/backup/cancel')).status, 204);
  assert.equal((await ended()).trouble, null);
  assert.ok((await peakBytes(pid)) - before < mostGrowthBytes, 'the memory of the backend grew');

  await change({});
  await begin();
  const { trouble, backups } = await ended();
  assert.deepEqual([trouble, backups.length, station.pid()], [null, 1, pid]);
});

test('a prepared stick holds nothing up, and shows no file of the station', { timeout: 1_200_000 }, async () => {
  await using station = await install('the embedded broker and SQLite', { devices: 1 });
  const stick = join(station.folder, 'stick');
  await mkdir(stick);
  station.env['BACKUP_DIR'] = stick;
  const { call, view, change, begin, ended, expectServed } = await startWith(station);
  const mark = join(stick, '.station-backups.json');

  await run('mkfifo', [mark]);
  // More often than there are threads for files.
  for (let time = 0; time < 5; time++) assert.equal((await view()).folder, 'ready');
  await expectServed();
  await change({ folder: true });
  await rm(mark);
  await symlink('/dev/zero', mark);
  assert.equal((await view()).folder, 'not_mounted');
  await expectServed();
  await rm(mark);
  await change({ folder: false });
  await change({ folder: true });

  const own = join(stick, stationId);
  await mkdir(own, { recursive: true });
  const named = (name: string): string => `station-${name}-20260101T000000Z.age`;
  await run('mkfifo', [join(own, named('pipe'))]);
  await symlink(join(station.dataDir, 'settings-key'), join(own, named('link')));
  await mkdir(join(own, named('folder')));
  assert.deepEqual((await view()).backups, []);
  for (const name of ['pipe', 'link', 'folder']) {
    const link = await call('POST', `/api/backup/folder:${named(name)}/link`);
    const { path } = (await link.json()) as { path: string };
    assert.equal((await call('GET', path)).status, 404, name);
    const restore = { backup: `folder:${named(name)}`, passphrase };
    assert.equal((await call('POST', '/api/backup/restore', restore)).status, 404, name);
  }
  await begin();
  const { trouble, backups } = await ended();
  assert.deepEqual([trouble, backups.map(({ place }) => place)], [null, ['folder']]);
  await expectServed();
});
