import { join } from 'node:path';
import type { BackupJob, BackupResult, JobContext } from './backup-job.ts';
import { unpackBackup } from './unpack-backup.ts';

/** The content, and some more for the index of the database. */
const spaceFactor = 1.25;

/** Restores a backup into a scratch folder, which is removed afterwards. @throws BackupRefused when it could not be restored. */
export function verifyBackup(
  { file, passphrase }: Extract<BackupJob, { work: 'verify' }>,
  context: JobContext,
): Promise<BackupResult> {
  const into = join(context.places.scratch, 'check');
  return unpackBackup({ file, passphrase, into, spaceFactor }, { ...context, work: 'verify' });
}
