import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { openStore, type Store } from '../../src/store/database.ts';
import { migrations } from '../../src/store/migrations/all.ts';
import { ensureStation } from '../../src/store/station-store.ts';
import { recordedLog } from '../recorded-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { testPasskey } from '../test-passkey.ts';
import type { RunJob } from '../../src/backup/attempt-job.ts';
import { type BackupEngine, createBackupEngine } from '../../src/backup/backup-engine.ts';
import { confirmRestore, finishRestore } from '../../src/backup/finish-restore.ts';
import { restoreParts } from '../../src/backup/restore-parts.ts';
import { runBackupJob } from '../../src/backup/run-backup-job.ts';
import { readBackup } from './altered-backup.ts';

export const oldStation = '01a1b2c3-0000-4000-8000-000000000001';
export const passphrase = 'correct horse battery staple';
export const logger = recordedLog();

/** What backups work with: a data folder, its database and the engine. */
type Station = AsyncDisposable & {
  dataDir: string;
  engine: BackupEngine;
  /** Opens the database as a start of the backend does, with what a restore left to do. */
  start(options?: { stationId?: string }): Promise<Store>;
  confirm(): Promise<unknown>;
};

export async function station(
  options: { run?: RunJob; agent?: unknown; isSupported?: boolean } = {},
): Promise<Station> {
  const folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  await mkdir(dataDir);
  const engine = createBackupEngine({
    dataDir,
    isSupported: options.isSupported ?? true,
    version: '1.2.3',
    readAgentPart: async () => options.agent ?? null,
    run: options.run ?? runBackupJob,
    clock: systemClock,
    logger,
  });
  const parts = { dataDir, disk: nodeDisk, logger };
  return {
    dataDir,
    engine,
    start: async ({ stationId = null } = {}) => {
      await finishRestore(parts);
      const store = await openStore({
        config: { kind: 'sqlite', file: join(dataDir, 'station.sqlite') },
        migrations,
        clock: systemClock,
        disk: nodeDisk,
        logger,
        onDamage: () => undefined,
      });
      await restoreParts({ ...parts, db: store.db });
      const generateId = (): string => '01a1b2c3-0000-4000-8000-000000000000';
      await ensureStation(store.db, { stationId, generateId, timeZone: 'UTC', clock: systemClock });
      return store;
    },
    confirm: () => confirmRestore(parts),
    [Symbol.asyncDispose]: async () => {
      await engine[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export const namesOf = async ({ db }: Store): Promise<string[]> =>
  (await db.selectFrom('zones').select('name').orderBy('name').execute()).map(({ name }) => name);
export const addZone = ({ db }: Store, name: string): Promise<unknown> =>
  db.insertInto('zones').values({ id: name, name, created_at: 1 }).execute();
export const passkeysIn = async ({ db }: Store): Promise<object[]> =>
  (await db.selectFrom('passkeys').selectAll().execute()).map((row) => ({ ...row }));
export const addUser = ({ db }: Store, id: string): Promise<unknown> =>
  db
    .insertInto('users')
    .values({ id, email: `${id}@example.org`, name: id, role: 'owner', created_at: 1 } as never)
    .execute();

export const lampType = JSON.stringify({ type: 'lamp', capabilities: [] });
export const settingsKey = `${Buffer.alloc(32, 7).toString('base64')}\n`;

/** A station with a zone, an owner with a session, keys and a device type; and its backup. */
export async function backedUp(on: Station, file: string): Promise<void> {
  await using store = await on.start({ stationId: oldStation });
  await addZone(store, 'Kitchen');
  await addUser(store, 'olena');
  await store.db.updateTable('station').set({ owner_id: 'olena', name: 'Home' }).execute();
  const session = {
    id: 's',
    user_id: 'olena',
    token_hash: 'h',
    created_at: 1,
    used_at: 1,
    expires_at: 9e12,
    ends_at: 9e12,
  };
  await store.db.insertInto('sessions').values(session).execute();
  await store.db.insertInto('passkeys').values(testPasskey('olena')).execute();
  await writeFile(join(on.dataDir, 'settings-key'), settingsKey);
  await mkdir(join(on.dataDir, 'device-types'), { recursive: true });
  await writeFile(join(on.dataDir, 'device-types/lamp.json'), lampType);
  const outcome = await on.engine.make(file, passphrase);
  assert.equal(outcome.kind, 'done', JSON.stringify(outcome));
}

/** What the backup of a station with data has in it. */
export async function contentsBackedUp(on: Station): ReturnType<typeof readBackup> {
  const file = join(on.dataDir, 'good.age');
  await backedUp(on, file);
  return readBackup(file, passphrase);
}

export const reasonOf = (outcome: { kind: string; reason?: string }): string => outcome.reason ?? outcome.kind;
