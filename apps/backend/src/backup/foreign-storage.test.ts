import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LightMyRequestResponse } from 'fastify';
import type { BackupView } from '@station/protocol/backup-api';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { until } from '../../testing/until.ts';
import { backupFileName } from './backup-name-decide.ts';
import { runBackupJob } from './run-backup-job.ts';
import { startHostileWebdav } from '../../testing/backup/hostile-webdav.ts';
import { startWebdavServer } from '../../testing/backup/webdav-server.ts';

const passphrase = 'four plain words here';
const usual = { nightly: false, at: '03:00', keep: { daily: 7, weekly: 4 }, folder: false };
const login = { username: 'station', password: 'secret of the NAS' };

test('an upload that the server never answers is cancelled, and the next backup works', async () => {
  await using server = await startHostileWebdav();
  await using running = await runBackend({ runBackupJob });
  const headers = bearer((await running.setUp()).accessToken);
  const call = (method: 'GET' | 'PUT' | 'POST', url: string, payload?: object) =>
    running.http.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  const view = async (): Promise<BackupView> => (await call('GET', '/api/backup')).json();
  const settings = (webdav: object | null) => call('PUT', '/api/backup/settings', { ...usual, passphrase, webdav });
  assert.equal((await settings({ url: server.url, ...login })).statusCode, 200);
  server.requests.length = 0;
  server.do('silent upload');
  assert.equal((await call('POST', '/api/backup', {})).statusCode, 202);
  await until('the upload begins', () => server.requests.some((request) => request.startsWith('PUT ')));
  assert.equal((await view()).sending, 'webdav');
  assert.equal((await call('POST', '/api/backup/cancel')).statusCode, 204);
  await until('it has ended', async () => !(await view()).isWorking);
  assert.equal((await view()).trouble, null, 'what a person cancelled is no trouble');
  await settings(null);
  assert.equal((await call('POST', '/api/backup', {})).statusCode, 202);
  await until('the next one has ended', async () => !(await view()).isWorking);
  const { trouble, backups } = await view();
  assert.deepEqual([trouble, backups.length], [null, 1]);
});

test('a server with ever more old backups is tidied up little by little, and the next backup is not kept waiting', async () => {
  await using server = await startWebdavServer(login);
  await using running = await runBackend({ runBackupJob });
  const headers = bearer((await running.setUp()).accessToken);
  const call = (method: 'GET' | 'PUT' | 'POST', url: string, payload?: object) =>
    running.http.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  const view = async (): Promise<BackupView> => (await call('GET', '/api/backup')).json();
  const make = async (): Promise<void> => {
    assert.equal((await call('POST', '/api/backup', {})).statusCode, 202);
    await until('the backup is made', async () => !(await view()).isWorking);
    assert.equal((await view()).trouble, null);
  };
  const webdav = { url: server.url, ...login };
  assert.equal((await call('PUT', '/api/backup/settings', { ...usual, passphrase, webdav })).statusCode, 200);
  await make();
  const [path = ''] = server.files.keys();
  const old = Array.from({ length: 200 }, (_, second) =>
    path.replace(/station-.*/, backupFileName('x', new Date(Date.UTC(2020, 0, 1, 0, 0, second)).toISOString())),
  );
  for (const name of old) server.files.set(name, Buffer.alloc(1));
  await make();
  const left = old.filter((name) => server.files.has(name));
  assert.equal(left.length, 180);
});

test('a file that does not end is not restored, and nothing of it stays', async () => {
  await using server = await startHostileWebdav();
  await using running = await runBackend({ runBackupJob });
  const headers = bearer((await running.setUp()).accessToken);
  server.do('endless file');
  const webdav = { url: server.url, ...login };
  await running.http.inject({
    method: 'PUT',
    url: '/api/backup/settings',
    headers,
    payload: { ...usual, passphrase, webdav },
  });
  const view = (await running.http.inject({ url: '/api/backup', headers })).json<BackupView>();
  const [{ id } = { id: '' }] = view.backups;
  assert.equal(id, 'webdav:station-x-20260101T000000Z.age');
  for (const path of ['inspect', 'restore']) {
    const url = `/api/backup/${path}`;
    const payload = { backup: id, passphrase };
    const answer: LightMyRequestResponse = await running.http.inject({ method: 'POST', url, headers, payload });
    assert.deepEqual([answer.statusCode, answer.json<{ code: string }>().code], [503, 'unavailable']);
    assert.deepEqual(await readdir(join(running.dataDir, 'backup-uploads')), []);
  }
});
