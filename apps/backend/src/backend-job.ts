import type { StorageJob } from './backup/adapters/storage-process.ts';
import type { BackupJob } from './backup/backup-job.ts';
import { serveJob } from './core/adapters/job-process.ts';
import type { DoctorJob } from './doctor/doctor-job.ts';
import type { CopyJob } from './store/copy-job.ts';

type Job = StorageJob | BackupJob | DoctorJob | CopyJob;
type Options = { onProgress: (progress: unknown) => void; signal: AbortSignal };

/**
 * Does the job that the backend gave to this process over standard input.
 * @returns the exit code of the process.
 */
export async function serveBackendJob({ isUrgent }: { isUrgent: boolean }): Promise<number> {
  await serveJob(doJob, { isUrgent });
  return 0;
}

/** Loads only what the job needs: each look at a storage starts a process. */
async function doJob(job: Job, options: Options): Promise<unknown> {
  if (job.work === 'storage') return (await import('./backup/adapters/storage-process.ts')).runStorageJob(job, options);
  if (job.work === 'copy') return (await import('./store/copy-job.ts')).runCopyJob(job, options);
  if (job.work === 'examine') return (await import('./doctor/doctor-job.ts')).runDoctorJob(job);
  return (await import('./backup/run-backup-job.ts')).runBackupJob(job, options);
}
