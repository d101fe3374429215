import assert from 'node:assert/strict';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupView } from '@station/protocol/backup-api';
import type { SetupState } from '@station/protocol/rest';
import { bearer, owner, post, type RunningBackend, runBackend } from '../../testing/running-backend.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { testOnSqlite } from '../../testing/test-postgres.ts';
import { until } from '../../testing/until.ts';
import { runBackupJob } from './run-backup-job.ts';

const passphrase = 'four plain words here';
const env = { STATION_ID: '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54' };

const setupState = async ({ http }: RunningBackend): Promise<SetupState> =>
  (await http.inject({ url: '/api/auth/setup' })).json();

async function makeBackup(running: RunningBackend): Promise<string> {
  const headers = bearer((await running.setUp()).accessToken);
  assert.equal((await post(running, '/api/backup', { passphrase }, headers)).statusCode, 202);
  const view = async (): Promise<BackupView> =>
    (await running.http.inject({ url: '/api/backup', headers })).json<BackupView>();
  await until('the backup ends', async () => !(await view()).isWorking);
  return (await view()).backups[0]?.madeAt ?? assert.fail();
}

/** The file is garbage, and so is every copy. */
async function damage(dataDir: string): Promise<void> {
  await writeFile(join(dataDir, 'station.sqlite'), 'garbage'.repeat(1_000));
  for (const name of await readdir(dataDir))
    if (/^station\.sqlite-|copies/.test(name)) await rm(join(dataDir, name), { recursive: true });
}

testOnSqlite('a database without a good copy: the first page says so and offers the newest backup', async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  let madeAt = '';
  {
    await using before = await runBackend({ dataDir, env, runBackupJob });
    madeAt = await makeBackup(before);
    assert.equal((await setupState(before)).lost, undefined);
  }
  await damage(dataDir);
  let restarts = 0;
  {
    await using empty = await runBackend({ dataDir, env, runBackupJob, onRestart: () => (restarts += 1) });
    const { needed, lost } = await setupState(empty);
    assert.equal(needed, true);
    assert.deepEqual(lost?.backup, { place: 'station', madeAt });
    assert.ok((await readdir(dataDir)).includes(lost?.file ?? ''), 'the damaged file is kept');
    const found = (code: string) => post(empty, '/api/setup/backup/found', { code });
    assert.equal((await found('BBBB-BBBB-BBBB')).statusCode, 403);
    const taken = await found((await empty.setupCode()).trim());
    assert.equal(taken.statusCode, 200, taken.body);
    const upload = taken.json<{ id: string }>().id;
    const restored = await post(empty, '/api/setup/backup/restore', { upload, passphrase });
    assert.equal(restored.statusCode, 200, restored.body);
    await until('a restart is asked for', () => restarts === 1);
  }
  await using after = await runBackend({ dataDir, env, runBackupJob });
  const { email, password } = owner;
  assert.equal((await post(after, '/api/auth/login', { email, password })).statusCode, 200);
  assert.deepEqual(await setupState(after), { needed: false, stationName: 'Station' });
  assert.ok(!(await readdir(dataDir)).includes('station.sqlite.lost'));
});

testOnSqlite('a loss without a backup is told until the station is set up anew', async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  {
    await using before = await runBackend({ dataDir, env });
    await before.setUp();
  }
  await damage(dataDir);
  await using empty = await runBackend({ dataDir, env });
  assert.equal((await setupState(empty)).lost?.backup, null);
  const note = join(dataDir, 'station.sqlite.lost');
  const written = await readFile(note, 'utf8');
  for (const damaged of ['', '{"at":', '[]', '{"at":1,"file":"x"}']) {
    await writeFile(note, damaged);
    assert.deepEqual(await setupState(empty), { needed: true, stationName: null }, damaged);
  }
  await writeFile(note, written);
  const code = (await empty.setupCode()).trim();
  assert.equal((await post(empty, '/api/setup/backup/found', { code })).statusCode, 404);
  await empty.setUp();
  assert.ok(!(await readdir(dataDir)).includes('station.sqlite.lost'));
});
