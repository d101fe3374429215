import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Alteration, alterBackup, readBackup } from '@station/backend/testing/backup/altered-backup';
import type { BackupInspection, BackupView, UploadStarted } from '@station/protocol/backup-api';
import { uploadPieceBytes } from '@station/protocol/backup-upload';
import { waitFor } from '../../rig/program.ts';
import { install, stationId, type Installation } from '../backend/installation.ts';

// Somebody gives the owner a backup. It has a passphrase that both know, and its sums are right.

const passphrase = 'four plain words here';

/** What the backup page does. */
async function startWith(station: Installation) {
  await station.startBackend();
  const authorization = `Bearer ${await station.logIn()}`;
  const call = async (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${station.url}${path}`, {
      method,
      headers: { authorization, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const make = async (): Promise<string> => {
    assert.equal((await call('POST', '/api/backup', { passphrase })).status, 202);
    const view = async (): Promise<BackupView> => (await (await call('GET', '/api/backup')).json()) as BackupView;
    await waitFor('the backup to end', async () => !(await view()).isWorking, 600_000);
    const { backups, trouble } = await view();
    assert.equal(trouble, null);
    return join(station.dataDir, 'backups', stationId, backups[0]?.name ?? '');
  };
  const upload = async (file: string, name: string): Promise<string> => {
    const content = await readFile(file);
    const begun = await call('POST', '/api/backup/uploads', { bytes: content.length, name });
    const { id } = (await begun.json()) as UploadStarted;
    for (let offset = 0; offset < content.length; offset += uploadPieceBytes) {
      const answer = await fetch(`${station.url}/api/backup/uploads/${id}?offset=${offset}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/octet-stream' },
        body: content.subarray(offset, offset + uploadPieceBytes),
      });
      assert.equal(answer.status, 200, await answer.text());
    }
    return id;
  };
  /** @returns status and reason. */
  const restore = async (id: string): Promise<string> => {
    const answer = await call('POST', '/api/backup/restore', { upload: id, passphrase });
    const { details } = (await answer.json()) as { details?: { reason?: string } };
    return `${answer.status} ${details?.reason ?? ''}`;
  };
  return { call, make, upload, restore };
}

const hostile: readonly (Alteration & { name: string; refused: string })[] = [
  {
    name: 'a trigger that keeps the old password',
    refused: '422 foreign_schema',
    sql: `create trigger hidden after update of station_password_hash on users begin
      update users set station_password_hash = old.station_password_hash where id = new.id; end`,
  },
  {
    name: 'a station id that is a path',
    refused: '422 damaged',
    sql: `update station set station_id = '../../../evil'`,
    edit: ({ manifest }) => void (manifest.stationId = '../../../evil'),
  },
  {
    name: 'a device type that is too large',
    refused: '422 not_accepted',
    zeros: { name: 'device-types/zero.json', bytes: 8 * 1024 * 1024 },
  },
  { name: 'a passphrase that takes all memory to check', refused: '422 not_recognised', workFactor: 18 },
  {
    name: 'a backup of another station',
    refused: '422 unconfirmed',
    sql: `update station set station_id = '11111111-2222-4333-8444-555555555555'`,
    edit: ({ manifest }) => void (manifest.stationId = '11111111-2222-4333-8444-555555555555'),
  },
];

test('hostile backups are refused in words, and the station is as before', { timeout: 1_200_000 }, async (t) => {
  await using station = await install('the embedded broker and SQLite', { devices: 1 });
  const { call, make, upload, restore } = await startWith(station);
  const good = await make();
  const contents = await readBackup(good, passphrase);
  const file = join(station.folder, 'altered.age');
  const pid = station.pid();
  const stateOf = async (): Promise<unknown> => ({
    files: (await readdir(station.dataDir)).filter((name) => !/^backup-(uploads|work)$|-(wal|shm)$/.test(name)).sort(),
    left: (await readdir(join(station.dataDir, 'backup-work'))).filter((name) => name !== 'lock'),
    people: await station.query('select id, email, station_password_hash from users'),
    station: await station.query('select station_id, owner_id from station'),
    schema: await station.query('select type, name, sql from sqlite_schema order by type, name'),
  });
  const before = await stateOf();
  for (const { name, refused, ...change } of hostile)
    await t.test(name, async () => {
      await alterBackup(contents, file, passphrase, change);
      assert.equal(await restore(await upload(file, 'a.age')), refused);
      assert.deepEqual(await stateOf(), before);
      assert.deepEqual([station.pid(), (await call('GET', '/api/health')).status], [pid, 200]);
    });
  await t.test('an old backup under a new name is said to be one', async () => {
    const id = await upload(good, 'station-home-20990101T030000Z.age');
    const shown = await call('POST', '/api/backup/inspect', { upload: id, passphrase });
    assert.deepEqual(((await shown.json()) as BackupInspection).doubts, ['older_than_name']);
  });
});
