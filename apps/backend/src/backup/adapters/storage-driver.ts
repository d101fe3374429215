import type { Readable } from 'node:stream';
import type { FolderState, StoredBackup } from '../../core/backup-destination.ts';

export type TransferOptions = { signal: AbortSignal; onProgress: (doneBytes: number) => void };

/** One kind of storage; it runs where it may hang. Everything throws `DestinationFault`. */
export type StorageDriver = {
  prepare(): Promise<void>;
  list(): Promise<StoredBackup[]>;
  put(path: string, name: string, options: TransferOptions): Promise<void>;
  read(name: string, options: TransferOptions): Promise<Readable>;
  remove(name: string): Promise<void>;
  check(): Promise<void>;
  tidy(): Promise<void>;
  state(): Promise<FolderState>;
  mark(): Promise<string>;
};
