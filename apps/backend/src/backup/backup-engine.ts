import type { Clock } from '@station/kit/clock';
import { createEmitter, type Emitter } from '@station/kit/emitter';
import type { BackendLogger } from '@station/kit/logger';
import {
  type BackupProgress,
  passphraseMaxLength,
  passphraseMinLength,
  type RestorePart,
} from '@station/protocol/backups';
import { attemptJob, type RunJob } from './attempt-job.ts';
import type { BackupJob, BackupOutcome, JobOptions } from './backup-job.ts';
import { refusedFor } from './backup-refused.ts';

/** Makes, checks and restores backup files; one at a time. Nothing here throws: what was not done has its reason. */
export type BackupEngine = AsyncDisposable & {
  /** @param to path of the new file; a file of that name is replaced once the new one is complete. */
  make(to: string, passphrase: string): Promise<BackupOutcome>;
  /** Restores a file into a scratch folder, checks everything in it, and removes it. */
  verify(file: string, passphrase: string): Promise<BackupOutcome>;
  /** Reads its manifest alone: of which station it is, and of when. */
  inspect(file: string, passphrase: string): Promise<BackupOutcome>;
  /**
   * Checks a backup completely and puts it on disk beside the station's data. `done`: the next start takes it; the caller ends the process.
   * @param parts null: everything.
   */
  restore(file: string, passphrase: string, parts: RestorePart[] | null): Promise<BackupOutcome>;
  /** What runs now; null: nothing. */
  progress(): BackupProgress | null;
  /** Each progress; null when the work has ended. */
  changes: Emitter<BackupProgress | null>;
  /** The work that runs ends as `cancelled`. */
  cancel(): void;
};

export function createBackupEngine(parts: {
  dataDir: string;
  /** False on PostgreSQL: everything is refused. */
  isSupported: boolean;
  version: string;
  /** JSON that the agent wants in a backup; null: there is no agent, or it does not answer. */
  readAgentPart: () => Promise<unknown>;
  run: RunJob;
  clock: Clock;
  logger: BackendLogger;
}): BackupEngine {
  const { dataDir, isSupported, version, readAgentPart, run, clock, logger } = parts;
  const changes = createEmitter<BackupProgress | null>();
  let current: { progress: BackupProgress; ending: AbortController; ended: Promise<unknown> } | null = null;

  const doJob = async (job: BackupJob, options: JobOptions): Promise<BackupOutcome> => {
    const agent = job.work === 'make' ? await readAgentPart() : null;
    return attemptJob(run, job.work === 'make' ? { ...job, agent } : job, options);
  };

  const start = async (job: BackupJob): Promise<BackupOutcome> => {
    const { length } = job.passphrase;
    if (!isSupported) return refusedFor('not_supported');
    if (job.work === 'make' && (length < passphraseMinLength || length > passphraseMaxLength)) {
      return refusedFor('passphrase_short');
    }
    if (current !== null) return refusedFor('running');
    const ending = new AbortController();
    const startedAt = clock.monotonic();
    const onProgress = (progress: BackupProgress): void => {
      if (current !== null) current.progress = progress;
      changes.emit(progress);
    };
    const ended = doJob(job, { onProgress, signal: ending.signal });
    const phase = job.work === 'make' ? 'packing' : 'unpacking';
    const first: BackupProgress = { work: job.work, phase, doneBytes: 0, totalBytes: 0 };
    current = { progress: first, ending, ended };
    changes.emit(first);
    const outcome = await ended;
    current = null;
    if (outcome.kind === 'done') {
      const seconds = Math.round((clock.monotonic() - startedAt) / 100) / 10;
      logger.event('backup_work_ended', { work: job.work, bytes: outcome.bytes, seconds });
    } else {
      logger.event('backup_work_refused', { work: job.work, reason: outcome.reason, message: outcome.cause });
    }
    changes.emit(null);
    return outcome;
  };

  return {
    make: (to, passphrase) => start({ work: 'make', dataDir, to, passphrase, version, at: clock.now(), agent: null }),
    verify: (file, passphrase) => start({ work: 'verify', dataDir, file, passphrase }),
    inspect: (file, passphrase) => start({ work: 'inspect', dataDir, file, passphrase }),
    restore: (file, passphrase, chosen) =>
      start({ work: 'restore', dataDir, file, passphrase, at: clock.now(), parts: chosen }),
    progress: () => current?.progress ?? null,
    changes,
    cancel: () => current?.ending.abort(new Error('Cancelled')),
    [Symbol.asyncDispose]: async () => {
      current?.ending.abort(new Error('The backend stops'));
      await current?.ended;
    },
  };
}
