import type { BackupProgress } from '@station/protocol/backups';
import { findBackendProgram, runInProcess } from '../core/adapters/job-process.ts';
import type { BackupJob, BackupOutcome, JobOptions } from './backup-job.ts';

/** A board that does much else at the same time. */
const silenceMs = 15 * 60_000;
/** 500 kB/s: each page of the database is read in one query, without progress. */
const silenceMsPerByte = 1 / 500;

/** Does a job in a process of its own, which is killed when it is cancelled or takes too long. @throws as `runInProcess`. */
export function runBackupProcess(job: BackupJob, options: JobOptions): Promise<BackupOutcome> {
  let mostBytes = 0;
  const mostSilenceMs = (last: BackupProgress | null): number => {
    mostBytes = Math.max(mostBytes, last?.totalBytes ?? 0);
    return silenceMs + mostBytes * silenceMsPerByte;
  };
  return runInProcess<BackupProgress, BackupOutcome>(job, { program: findBackendProgram(), mostSilenceMs, ...options });
}
