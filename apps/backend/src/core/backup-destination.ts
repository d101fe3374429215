import type { Readable } from 'node:stream';
import type { BackupFault, BackupPlace } from '@station/protocol/backup-api';

/** A backup file at a destination. */
export type StoredBackup = { name: string; bytes: number };
export type FolderState = 'ready' | 'not_mounted' | 'not_writable';

/** Written on the disk when it is chosen. Without it another disk is mounted there, or none. */
export const backupMarkName = '.station-backups.json';

/** A place for backups, with a folder for each station: several may share it. `mark`: as the folder was marked; null: any will do. */
export type StorageTarget =
  | { kind: 'folder'; folder: string; stationId: string; mark: string | null }
  | { kind: 'webdav'; url: string; username: string; password: string; stationId: string };

/** What a storage can be asked for, and what it answers. */
export type StorageCalls = {
  /** The folder of the station is there, or was made. */
  prepare: { with: object; answer: null };
  /** Files whose names are those of backups, the newest ones. */
  list: { with: object; answer: StoredBackup[] };
  /** Copies a file there and reads it back: the same bytes are there under their name. */
  put: { with: { path: string; name: string }; answer: null };
  /** Nothing happens when there is no such file. */
  remove: { with: { name: string }; answer: null };
  /** Whether backups can be kept there: what a backup needs is done with a small file. A folder is not tried. */
  check: { with: object; answer: null };
  /** Removes what interrupted uploads left. */
  tidy: { with: object; answer: null };
  /** Of a folder; a server is always `ready`. */
  state: { with: object; answer: FolderState };
  /** Marks a folder, so that it is recognised later; one that has a mark keeps it. */
  mark: { with: object; answer: string };
};
export type StorageCall = keyof StorageCalls;
export type StorageOptions = { signal: AbortSignal; onProgress?: (doneBytes: number) => void };

/** Storage that others may control: a stick, a share, a server. All of it throws `DestinationFault` when the place cannot do it. */
export type Storage = {
  ask<Call extends StorageCall>(
    target: StorageTarget,
    call: Call,
    given: StorageCalls[Call]['with'],
    options: StorageOptions,
  ): Promise<StorageCalls[Call]['answer']>;
  /** The content of a file. When it is destroyed, the transfer ends. */
  read(target: StorageTarget, name: string, options: StorageOptions): Promise<Readable>;
};

/** One target in use. */
export type BackupDestination = {
  readonly place: BackupPlace;
  prepare(): Promise<void>;
  list(signal?: AbortSignal): Promise<StoredBackup[]>;
  put(path: string, name: string, signal: AbortSignal): Promise<void>;
  read(name: string, signal: AbortSignal): Promise<Readable>;
  remove(name: string, signal?: AbortSignal): Promise<void>;
  check(signal: AbortSignal): Promise<void>;
  tidy(signal: AbortSignal): Promise<void>;
};

const namePattern = /^station-[a-z0-9-]{1,60}-[0-9]{8}T[0-9]{6}Z\.age$/;

/** Whether a file may be a backup: other names, also those that a server lists, are never used. */
export const isBackupFileName = (name: string): boolean => namePattern.test(name);

const mostListed = 1_000;

/** The newest files of backups among those that a storage lists. */
export function listedBackups(files: readonly StoredBackup[]): StoredBackup[] {
  const timeOf = (name: string): string => name.slice(-20);
  return files
    .filter(({ name, bytes }) => isBackupFileName(name) && Number.isSafeInteger(bytes) && bytes >= 0)
    .toSorted((a, b) => (timeOf(a.name) < timeOf(b.name) ? 1 : -1))
    .slice(0, mostListed);
}

/** A place could not do what was asked, for a reason that people can do something about. */
export class DestinationFault extends Error {
  readonly reason: BackupFault;

  constructor(reason: BackupFault, cause?: unknown) {
    super(`the destination of backups failed: ${reason}`, cause === undefined ? undefined : { cause });
    this.name = 'DestinationFault';
    this.reason = reason;
  }
}
