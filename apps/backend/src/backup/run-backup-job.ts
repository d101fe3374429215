import { join } from 'node:path';
import type { BackupJob, BackupOutcome, BackupResult, JobContext, JobOptions } from './backup-job.ts';
import { placesIn } from './backup-places.ts';
import { BackupRefused, refusedFor } from './backup-refused.ts';
import { makeBackup } from './make-backup.ts';
import { prepareRestore } from './prepare-restore.ts';
import { withScratch } from './scratch.ts';
import { inspectBackup, unpackBackup } from './unpack-backup.ts';

/** A job is a process of its own, of low priority: it ends a moment after its command was killed. */
const killedJobEndsWithinMs = 10_000;

/** Does a job in this process. Never throws. What an earlier, interrupted job left is removed first. */
export async function runBackupJob(job: BackupJob, options: JobOptions): Promise<BackupOutcome> {
  const places = placesIn(job.dataDir);
  const { signal, lockWaitMs = killedJobEndsWithinMs } = options;
  try {
    const action = (): Promise<BackupResult> => doJob(job, { ...options, places });
    const result = await withScratch(places, action, { waitMs: lockWaitMs, signal });
    return result === null ? refusedFor('running') : { kind: 'done', ...result };
  } catch (error) {
    return outcomeOf(error, signal);
  }
}

function doJob(job: BackupJob, context: JobContext): Promise<BackupResult> {
  switch (job.work) {
    case 'make':
      return makeBackup(job, context);
    case 'verify':
      return verifyBackup(job, context);
    case 'inspect':
      return inspectBackup(job, context);
    case 'restore':
      return prepareRestore(job, context);
  }
}

/** The content, and some more for the index of the database. */
const checkSpaceFactor = 1.25;

/** Restores it into a scratch folder, which is removed afterwards. @throws BackupRefused when it could not be restored. */
function verifyBackup(
  { file, passphrase }: Extract<BackupJob, { work: 'verify' }>,
  context: JobContext,
): Promise<BackupResult> {
  const into = join(context.places.scratch, 'check');
  return unpackBackup({ file, passphrase, into, spaceFactor: checkSpaceFactor }, { ...context, work: 'verify' });
}

function outcomeOf(error: unknown, signal: AbortSignal): BackupOutcome {
  if (error instanceof BackupRefused) return refusedFor(error.reason, error.cause);
  if (signal.aborted) return refusedFor('cancelled');
  const code = error instanceof Error && 'code' in error ? error.code : null;
  const sqliteCode = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : null;
  if (code === 'ENOSPC' || code === 'EDQUOT' || sqliteCode === sqliteFull) return refusedFor('no_space', error);
  if (code === 'EFBIG') return refusedFor('too_large', error);
  const isForbidden = code === 'EACCES' || code === 'EROFS' || code === 'EPERM';
  return refusedFor(isForbidden ? 'not_writable' : 'failed', error);
}

/** sqlite.org/rescode.html */
const sqliteFull = 13;
