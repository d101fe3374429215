import { dirname, join } from 'node:path';
import { Kysely } from 'kysely';
import { isoTime } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import type { BackupManifest } from '@station/protocol/backups';
import { move, removeTree, syncTree } from './adapters/backup-files.ts';
import { openSqliteFile } from '../core/adapters/sqlite.ts';
import { createSqliteDialect } from '../core/adapters/sqlite-dialect.ts';
import { migrate, SchemaTooNewError } from '../store/migrate.ts';
import { migrations } from '../store/migrations/all.ts';
import type { Database, Schema } from '../store/schema.ts';
import { keepStationId } from '../store/station-store.ts';
import type { BackupJob, BackupResult, JobContext } from './backup-job.ts';
import { databaseName } from './backup-places.ts';
import { BackupRefused } from './backup-refused.ts';
import { openRestoreMarker } from './restore-marker.ts';
import { unpackBackup } from './unpack-backup.ts';

/** The content and its migration; the data that it replaces stays on the disk too. */
const spaceFactor = 2.5;

/**
 * Prepares a restore: unpacks and checks everything, brings the database to this release's schema, and puts it on disk beside the
 * station's data. The marker at the end is what makes the next start take it (`finish-restore.ts`). Until then nothing is changed, and an
 * interruption leaves nothing that counts.
 * @throws BackupRefused, or the error of file system or database.
 */
export async function prepareRestore(
  job: Extract<BackupJob, { work: 'restore' }>,
  context: JobContext,
): Promise<BackupResult> {
  const { places, signal } = context;
  const marker = openRestoreMarker(nodeDisk, places);
  const earlier = await marker.read();
  if (earlier !== null && earlier.phase !== 'ready') throw new BackupRefused('running');
  const into = join(places.scratch, 'next');
  const { file, passphrase, parts, at } = job;
  const result = await unpackBackup({ file, passphrase, into, spaceFactor }, { ...context, work: 'restore' });
  await prepareDatabase(join(into, databaseName), result.manifest, { isWhole: parts === null, at });
  await syncTree(into);
  signal.throwIfAborted();
  await marker.remove();
  await removeTree(places.next);
  if (earlier === null) await removeTree(places.previous);
  await move(into, places.next);
  await nodeDisk.sync(dirname(places.next));
  const { stationId, createdAt, version } = result.manifest;
  await marker.write({ phase: 'ready', parts, starts: 0, backup: { stationId, createdAt, version }, at: isoTime(at) });
  return result;
}

async function prepareDatabase(
  file: string,
  { stationId }: BackupManifest,
  { isWhole, at }: { isWhole: boolean; at: number },
): Promise<void> {
  const db: Database = new Kysely<Schema>({ dialect: createSqliteDialect(openSqliteFile(file), () => undefined) });
  try {
    await migrate(db as Kysely<unknown>, migrations);
    if (isWhole) await settleRows(db, stationId, at);
  } catch (error) {
    throw error instanceof SchemaTooNewError ? new BackupRefused('too_new', error) : error;
  } finally {
    await db.destroy();
  }
}

/** What was true when the backup was made, and must not go on now. */
async function settleRows(db: Database, stationId: string, at: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    // A session that was ended since would be valid again: everybody logs in again.
    await transaction.deleteFrom('sessions').execute();
    // Devices must not be sent to the Wi-Fi of that time.
    await transaction
      .updateTable('wifi_changes')
      .set({ state: 'cancelled', credentials: null, ended_at: at })
      .where('state', '=', 'running')
      .execute();
    await keepStationId(transaction, stationId, at);
  });
}
