import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readdir, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from 'kysely';
import { nextTurn } from '@station/kit/timers';
import type { BackupInspection, BackupView } from '@station/protocol/backup-api';
import type { HttpServer } from '../http/server.ts';
import { bearer, owner, type RunningBackend, runBackend } from '../../testing/running-backend.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { until } from '../../testing/until.ts';
import { refusedFor } from './backup-refused.ts';
import { runBackupJob } from './run-backup-job.ts';
import { startWebdavServer } from '../../testing/backup/webdav-server.ts';

const passphrase = 'four plain words here';
const usual = { nightly: false, at: '03:00', keep: { daily: 7, weekly: 4 }, folder: false, webdav: null };

async function stationOf(running: RunningBackend) {
  const headers = bearer((await running.setUp()).accessToken);
  const { http } = running;
  const view = async (): Promise<BackupView> => (await http.inject({ url: '/api/backup', headers })).json();
  const change = (payload: object) => http.inject({ method: 'PUT', url: '/api/backup/settings', headers, payload });
  const make = async (): Promise<BackupView> => {
    const begun = await http.inject({ method: 'POST', url: '/api/backup', headers, payload: { passphrase } });
    assert.equal(begun.statusCode, 202, begun.body);
    await until('the backup ends', async () => !(await view()).isWorking);
    return view();
  };
  return { http, headers, view, change, make };
}

async function download(http: HttpServer, headers: Record<string, string>, id: string): Promise<Buffer> {
  const link = await http.inject({ method: 'POST', url: `/api/backup/${id}/link`, headers });
  assert.equal(link.statusCode, 200, link.body);
  const { path } = link.json<{ path: string }>();
  const got = await http.inject({ url: path });
  assert.equal(got.statusCode, 200, got.body);
  assert.match(String(got.headers['content-disposition']), /^attachment; filename="station-.*\.age"$/);
  assert.equal((await http.inject({ url: path })).statusCode, 404, 'an address works once');
  return got.rawPayload;
}

async function upload(
  http: HttpServer,
  at: string,
  begin: object,
  content: Buffer,
  headers: Record<string, string> = {},
) {
  const begun = await http.inject({ method: 'POST', url: `${at}/uploads`, headers, payload: begin });
  if (begun.statusCode !== 200) return { status: begun.statusCode, code: begun.json<{ code: string }>().code, id: '' };
  const { id } = begun.json<{ id: string }>();
  const piece = 1024 * 1024;
  for (let offset = 0; offset < content.length; offset += piece) {
    const payload = content.subarray(offset, offset + piece);
    const url = `/api/backup/uploads/${id}?offset=${offset}`;
    const sent = await http.inject({
      method: 'PUT',
      url,
      headers: { ...headers, 'content-type': 'application/octet-stream' },
      payload,
    });
    assert.equal(sent.statusCode, 200, sent.body);
  }
  return { status: 200, code: '', id };
}

test('a backup is made, verified, downloaded, and restored onto a new station with its set-up code', async () => {
  await using running = await runBackend({ runBackupJob });
  const { http, headers, make, view } = await stationOf(running);
  assert.deepEqual((await view()).faults, []);
  const { backups, trouble } = await make();
  assert.deepEqual([trouble, backups.length, backups[0]?.place], [null, 1, 'station']);
  assert.notEqual(backups[0]?.verifiedAt, null);
  const file = await download(http, headers, backups[0]!.id);
  assert.equal(file.length, backups[0]?.bytes);

  let restarts = 0;
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  {
    await using fresh = await runBackend({ dataDir, onRestart: () => (restarts += 1), runBackupJob });
    const code = (await fresh.setupCode()).trim();
    const at = '/api/setup/backup';
    const wrong = await upload(fresh.http, at, { bytes: file.length, code: 'BBBB-BBBB-BBBB' }, file);
    assert.deepEqual([wrong.status, wrong.code], [403, 'setup_code_invalid']);
    const { id } = await upload(fresh.http, at, { bytes: file.length, code }, file);
    const restore = (payload: object) => fresh.http.inject({ method: 'POST', url: `${at}/restore`, payload });
    const refused = await restore({ upload: id, passphrase: 'not the passphrase' });
    assert.deepEqual([refused.statusCode, refused.json().details], [422, { reason: 'passphrase_wrong' }]);
    assert.equal(restarts, 0);
    const shown = await fresh.http.inject({
      method: 'POST',
      url: `${at}/inspect`,
      payload: { upload: id, passphrase },
    });
    const { stationName, doubts } = shown.json<BackupInspection>();
    assert.deepEqual([shown.statusCode, stationName, doubts], [200, 'Station', []]);
    assert.equal(restarts, 0);
    const answer = await restore({ upload: id, passphrase });
    assert.equal(answer.statusCode, 200, answer.body);
    assert.deepEqual(answer.json().missing, ['agent']);
    await until('a restart is asked for', () => restarts === 1);
  }
  await using restored = await runBackend({ dataDir, runBackupJob });
  const login = await restored.http.inject({ method: 'POST', url: '/api/auth/login', payload: owner });
  const { email, password } = owner;
  const again = await restored.http.inject({ method: 'POST', url: '/api/auth/login', payload: { email, password } });
  assert.deepEqual([login.statusCode, again.statusCode], [400, 200]);
});

test('on a station with an owner nobody restores with the set-up code, and only the owner has backups', async () => {
  await using running = await runBackend({ runBackupJob });
  const { http } = await stationOf(running);
  const begun = await upload(http, '/api/setup/backup', { bytes: 10, code: 'BBBB-BBBB-BBBB' }, Buffer.alloc(0));
  assert.deepEqual([begun.status, begun.code], [409, 'setup_already_done']);
  const payload = { upload: 'x'.repeat(43), passphrase };
  const restore = await http.inject({ method: 'POST', url: '/api/setup/backup/restore', payload });
  assert.equal(restore.json().code, 'setup_already_done');
  assert.equal((await http.inject({ url: '/api/backup' })).statusCode, 401);
});

test('while a backup is restored to a new station nobody becomes its owner', async () => {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const runSlowly: typeof runBackupJob = async () => {
    begun.resolve();
    await end.promise;
    return refusedFor('damaged');
  };
  await using running = await runBackend({ runBackupJob: runSlowly });
  const { http, backend } = running;
  const code = (await running.setupCode()).trim();
  const setUp = () => http.inject({ method: 'POST', url: '/api/auth/setup', payload: { code, ...owner } });
  const restore = (id: string) =>
    http.inject({ method: 'POST', url: '/api/setup/backup/restore', payload: { upload: id, passphrase } });
  const { id } = await upload(http, '/api/setup/backup', { bytes: 3, code }, Buffer.from('abc'));
  assert.equal((await restore('x'.repeat(43))).json<{ code: string }>().code, 'not_found');
  const restoring = restore(id);
  await begun.promise;
  assert.equal((await setUp()).json<{ code: string }>().code, 'restore_in_progress');
  const other = await upload(http, '/api/setup/backup', { bytes: 3, code }, Buffer.from('abc'));
  assert.deepEqual([other.status, other.code], [409, 'restore_in_progress']);
  assert.equal((await restore(id)).statusCode, 409);
  assert.deepEqual(await backend.db.selectFrom('users').selectAll().execute(), []);
  end.resolve();
  assert.equal((await restoring).statusCode, 422);
  assert.equal((await setUp()).statusCode, 201, 'the restore has failed');
});

test('a piece of an upload that nobody began is not read', async () => {
  await using running = await runBackend({ runBackupJob });
  const { http } = await stationOf(running);
  const answer = await http.inject({
    method: 'PUT',
    url: `/api/backup/uploads/${'x'.repeat(43)}?offset=0`,
    headers: { 'content-type': 'application/octet-stream' },
    payload: Buffer.alloc(2 * 1024 * 1024),
  });
  assert.equal(answer.json<{ code: string }>().code, 'not_found');
});

test('an upload takes its pieces in order, repeated ones too, and no more than it was begun with', async () => {
  await using running = await runBackend({ runBackupJob });
  const { http, headers } = await stationOf(running);
  const begun = await http.inject({ method: 'POST', url: '/api/backup/uploads', headers, payload: { bytes: 6 } });
  const { id } = begun.json<{ id: string }>();
  const put = async (offset: number, payload: string) => {
    const url = `/api/backup/uploads/${id}?offset=${offset}`;
    const type = { 'content-type': 'application/octet-stream' };
    const answer = await http.inject({ method: 'PUT', url, headers: { ...headers, ...type }, payload });
    return answer.json<{ received?: number; code?: string }>();
  };
  assert.deepEqual(await put(3, 'def'), { ...(await put(3, 'def')) });
  assert.equal((await put(3, 'def')).code, 'conflict');
  assert.equal((await put(0, 'abc')).received, 3);
  assert.equal((await put(0, 'abc')).received, 3);
  assert.equal((await put(3, 'defg')).code, 'payload_too_large');
  assert.equal((await put(3, 'def')).received, 6);
  const restore = await http.inject({
    method: 'POST',
    url: '/api/backup/restore',
    headers,
    payload: { upload: id, passphrase },
  });
  assert.deepEqual([restore.statusCode, restore.json().details], [422, { reason: 'not_recognised' }]);
});

test('a backend that cannot store how a backup ended logs that, and continues', async () => {
  await using running = await runBackend({ runBackupJob });
  const { make } = await stationOf(running);
  await sql`create temp trigger full before insert on main.settings when new.key = 'backup_state'
    begin select raise(abort, 'no space'); end`.execute(running.backend.db);
  const { backups } = await make();
  assert.equal(backups.length, 1);
  assert.deepEqual(
    running.logger.events('unexpected_error').map(({ where }) => where),
    ['backup'],
  );
});

test('backups go to the folder; when its disk is away, to the station, and nothing is written into the empty folder', async () => {
  await using folder = await temporaryFolder();
  const stick = join(folder.path, 'stick');
  await mkdir(stick);
  await using running = await runBackend({ env: { BACKUP_DIR: stick }, runBackupJob });
  const { change, make, view, http, headers } = await stationOf(running);
  assert.equal((await change({ ...usual, folder: true, passphrase })).statusCode, 200);
  const { backups } = await make();
  assert.deepEqual(
    backups.map(({ place }) => place),
    ['folder'],
  );
  await rm(stick, { recursive: true });
  await mkdir(stick);
  assert.equal((await view()).folder, 'not_mounted');
  const away = await make();
  assert.deepEqual([away.trouble?.place, away.trouble?.reason], ['folder', 'not_mounted']);
  assert.deepEqual(
    away.backups.map(({ place }) => place),
    ['station'],
  );
  assert.deepEqual(away.faults, [{ place: 'folder', reason: 'not_mounted' }]);
  assert.deepEqual(await readdir(stick), []);
  const { body } = await http.inject({ url: '/api/conditions', headers });
  assert.match(body, /backup_failed/);
});

test('a backup reaches a WebDAV server, is read back, listed, and deleted; the password never leaves the station', async () => {
  await using server = await startWebdavServer({ username: 'station', password: 'secret of the NAS' });
  await using running = await runBackend({ runBackupJob });
  const { change, make, view, http, headers } = await stationOf(running);
  const webdav = { url: server.url, username: 'station', password: 'wrong' };
  const refused = await change({ ...usual, webdav, passphrase });
  assert.deepEqual(refused.json<BackupView>().faults, [{ place: 'webdav', reason: 'login_refused' }]);
  assert.equal((await make()).trouble?.reason, 'login_refused');
  const set = await change({ ...usual, webdav: { ...webdav, password: 'secret of the NAS' } });
  assert.equal(set.body.includes('secret of the NAS'), false);
  assert.deepEqual(set.json<BackupView>().faults, []);
  // The same server keeps its password, however its address is written.
  await change({ ...usual, webdav: { url: ` ${server.url.replace('http', 'HTTP')}// `, username: 'station' } });
  const { backups, trouble } = await make();
  assert.equal(trouble, null);
  const remote = backups.find(({ place }) => place === 'webdav');
  assert.notEqual(remote?.verifiedAt ?? null, null);
  assert.deepEqual(await download(http, headers, remote!.id), [...server.files.values()][0]);
  const gone = await http.inject({ method: 'DELETE', url: `/api/backup/${remote!.id}`, headers });
  assert.equal(gone.statusCode, 204, gone.body);
  assert.equal(server.files.size, 0);
  await server[Symbol.asyncDispose]();
  assert.deepEqual((await view()).faults, [{ place: 'webdav', reason: 'unreachable' }]);
  assert.equal(running.logger.lines.join('').includes('secret of the NAS'), false);
});

test('an address that is none is refused, and a log-in in one is not shown', async () => {
  await using running = await runBackend({ runBackupJob });
  const { change, view } = await stationOf(running);
  const answer = await change({ ...usual, webdav: { url: 'nas.local/dav', username: '' }, passphrase });
  const { code, details } = answer.json<{ code: string; details: { faults: { pointer: string }[] } }>();
  assert.deepEqual([code, details.faults.map(({ pointer }) => pointer)], ['validation_failed', ['/webdav/url']]);
  assert.equal((await view()).settings.webdav, null);
  const url = 'http://anna:secret@127.0.0.1:9/Резервні копії';
  const shown = (await change({ ...usual, webdav: { url, username: '' } })).json<BackupView>();
  assert.deepEqual(shown.settings.webdav, { url: 'http://127.0.0.1:9/Резервні копії/', username: 'anna' });
  assert.deepEqual(shown.faults, [{ place: 'webdav', reason: 'unreachable' }]);
});

test('a backup of another station, or an old one under a new name, is restored when that is confirmed', async () => {
  await using other = await runBackend({ runBackupJob });
  const foreign = await stationOf(other);
  const { backups } = await foreign.make();
  const file = await download(foreign.http, foreign.headers, backups[0]!.id);
  let restarts = 0;
  await using running = await runBackend({ runBackupJob, onRestart: () => (restarts += 1) });
  const { http, headers } = await stationOf(running);
  const name = 'station-home-20990101T030000Z.age';
  const { id } = await upload(http, '/api/backup', { bytes: file.length, name }, file, headers);
  const post = (path: string, more: object = {}) =>
    http.inject({ method: 'POST', url: path, headers, payload: { upload: id, passphrase, ...more } });
  const shown = (await post('/api/backup/inspect')).json<BackupInspection>();
  assert.deepEqual(shown.doubts, ['other_station', 'older_than_name']);
  assert.notEqual(shown.stationId, (await http.inject({ url: '/api/station', headers })).json<{ id: string }>().id);
  for (const accept of [[], ['older_than_name'], ['other_station', 'newer_than_name']]) {
    const refused = await post('/api/backup/restore', { accept });
    const { reason, doubts } = refused.json<{ details: { reason: string; doubts: string[] } }>().details;
    assert.deepEqual([refused.statusCode, reason, doubts], [422, 'unconfirmed', shown.doubts]);
  }
  assert.equal((await readdir(running.dataDir)).includes('restore.json'), false);
  const answer = await post('/api/backup/restore', { accept: shown.doubts });
  assert.equal(answer.statusCode, 200, answer.body);
  await until('a restart is asked for', () => restarts === 1);
});

test('a restore whose browser went away still starts the station again', async () => {
  let restarts = 0;
  await using running = await runBackend({ runBackupJob, onRestart: () => (restarts += 1) });
  const { headers, make } = await stationOf(running);
  const { backups } = await make();
  const leaving = new AbortController();
  // Not before the whole request is there: a part of one asks for nothing.
  running.http.server.once('request', (request) => request.once('end', () => leaving.abort()));
  const body = JSON.stringify({ backup: backups[0]!.id, passphrase });
  const asked = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
  await assert.rejects(fetch(`${running.backend.url}/api/backup/restore`, { ...asked, signal: leaving.signal }));
  await until('a restart is asked for', () => restarts === 1);
});

test('a piece of an upload that is given up half-way is no unexpected error', async () => {
  await using running = await runBackend({ runBackupJob });
  const { http, headers } = await stationOf(running);
  const begun = await http.inject({ method: 'POST', url: '/api/backup/uploads', headers, payload: { bytes: 1000 } });
  const { id } = begun.json<{ id: string }>();
  const { hostname, port } = new URL(running.backend.url);
  const socket = connect(Number(port), hostname);
  const asked = once(http.server, 'request');
  const type = 'host: localhost\r\ncontent-type: application/octet-stream\r\ncontent-length: 1000';
  socket.write(`PUT /api/backup/uploads/${id}?offset=0 HTTP/1.1\r\n${type}\r\n\r\nabc`);
  const [request, response] = (await asked) as [IncomingMessage, ServerResponse];
  await until('the piece is read', () => request.listenerCount('readable') > 0);
  socket.destroy();
  await until('the connection has ended', () => response.closed);
  await nextTurn();
  assert.deepEqual(running.logger.events('request_failed'), []);
});
