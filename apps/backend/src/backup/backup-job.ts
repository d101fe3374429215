import type { BackupManifest, BackupProgress, BackupRefusal, RestorePart } from '@station/protocol/backups';
import type { BackupPlaces } from './backup-places.ts';

/** Work that takes minutes: a process of its own does it, at the lowest priority. Times are milliseconds since the epoch. */
export type BackupJob =
  | {
      work: 'make';
      dataDir: string;
      /** Path of the new file, which replaces one of that name. */
      to: string;
      passphrase: string;
      version: string;
      at: number;
      /** JSON of the agent; null without one. */
      agent: unknown;
    }
  | { work: 'verify'; dataDir: string; file: string; passphrase: string }
  /** Reads the manifest alone. */
  | { work: 'inspect'; dataDir: string; file: string; passphrase: string }
  | {
      work: 'restore';
      dataDir: string;
      file: string;
      passphrase: string;
      at: number;
      /** Null: everything. */
      parts: RestorePart[] | null;
    };

export type BackupResult = { manifest: BackupManifest; /** Size of the backup file. */ bytes: number };
export type BackupOutcome =
  | ({ kind: 'done' } & BackupResult)
  /** `cause` is for the log, never for people. */
  | { kind: 'refused'; reason: BackupRefusal; message: string; cause: string | null };

export type JobOptions = {
  onProgress: (progress: BackupProgress) => void;
  signal: AbortSignal;
  /** How long it waits for another job, which may be that of a killed command and end a moment later. */
  lockWaitMs?: number;
};
/** What a job works with. */
export type JobContext = JobOptions & { places: BackupPlaces };
