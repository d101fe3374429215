import type { Readable } from 'node:stream';
import type { BackupFault, BackupPlace } from '@station/protocol/backup-api';

/** A backup file at a destination. */
type StoredBackup = { name: string; bytes: number };

/**
 * A place that keeps backup files of this station, in a folder named after its id: several stations may share one place.
 * Every function throws `DestinationFault` when the place cannot do it.
 */
export type BackupDestination = {
  readonly place: BackupPlace;
  list(): Promise<StoredBackup[]>;
  /** Copies a file there and reads it back. Resolved means that the same bytes are there under their name. */
  put(path: string, name: string, signal: AbortSignal): Promise<void>;
  /** The content of a file. */
  read(name: string): Promise<Readable>;
  /** Nothing happens when there is no such file. */
  remove(name: string): Promise<void>;
};

/** A place could not do what was asked, for a reason that people can do something about. */
export class DestinationFault extends Error {
  readonly reason: BackupFault;

  constructor(reason: BackupFault, cause?: unknown) {
    super(`the destination of backups failed: ${reason}`, cause === undefined ? undefined : { cause });
    this.name = 'DestinationFault';
    this.reason = reason;
  }
}
