import { temporaryPath } from '@station/kit/durable-files';
import { describeError } from '@station/kit/station-error';
import { removeTree } from './adapters/backup-files.ts';
import { JobTooSlowError } from '../core/adapters/job-process.ts';
import type { BackupJob, BackupOutcome, JobOptions } from './backup-job.ts';
import { refusedFor } from './backup-refused.ts';
import { removeLeftovers } from './scratch.ts';

export type RunJob = (job: BackupJob, options: JobOptions) => Promise<BackupOutcome>;

/** Does a job that may be killed; what it leaves then is removed. Never throws. */
export async function attemptJob(run: RunJob, job: BackupJob, options: JobOptions): Promise<BackupOutcome> {
  try {
    return await run(job, options);
  } catch (error) {
    await removeUnfinishedWork(job);
    if (options.signal.aborted) return refusedFor('cancelled');
    return refusedFor(error instanceof JobTooSlowError ? 'too_slow' : 'failed', describeError(error));
  }
}

async function removeUnfinishedWork(job: BackupJob): Promise<void> {
  try {
    if (job.work === 'make') await removeTree(temporaryPath(job.to));
    await removeLeftovers(job.dataDir);
  } catch {
    // The next job removes it.
  }
}
