import type { Disk } from '@station/kit/durable-files';
import type { FirmwareReady, OtaDeviceTypes } from '@station/protocol/firmware';

/** What the firmware cache needs of the host beyond durable files. */
export type CacheDisk = Disk & {
  /** Adds bytes at the end of a file, which is made (readable by its owner only) when there is none; not durable. */
  append(path: string, bytes: Uint8Array): Promise<void>;
  /** Cuts a file to its first bytes; not durable. */
  truncate(path: string, size: number): Promise<void>;
  /** Bytes of a file; null when there is none. */
  size(path: string): Promise<number | null>;
  setMode(path: string, mode: number): Promise<void>;
  /** Bytes free to an ordinary user where `path` is or would be made; null when it cannot be told. */
  freeBytes(path: string): Promise<number | null>;
};

export type Opened =
  | {
      kind: 'ok';
      /** Of the first byte that comes: what was asked for, or 0. */
      offset: number;
      /** Of the whole file; null when the server does not say. */
      totalBytes: number | null;
      /** Names the content for a later request; null when the server gives none that may be used so. */
      etag: string | null;
      /** Throws {@link LineBroken} when it breaks off; other errors are not the line's. */
      body: AsyncIterable<Uint8Array>;
    }
  /** Nothing behind the offset: what is here is longer than the file. */
  | { kind: 'past_end' }
  | { kind: 'rejected'; reason: string }
  | { kind: 'unavailable'; reason: string };

/** Asks for a file from `offset` on; `etag`: only if it is still this one, else the whole. */
export type OpenDownload = (
  url: URL,
  options: { offset: number; etag: string | null; signal: AbortSignal },
) => Promise<Opened>;

/** The server, or the way to it, did not deliver all of what it had begun. */
export class LineBroken extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'LineBroken';
  }
}

export type BackendFailure = { kind: 'failed'; reason: string };

/** The backend's side of firmware: /api/ota. */
export type OtaBackend = {
  deviceTypes(signal: AbortSignal): Promise<{ kind: 'ok'; types: OtaDeviceTypes } | BackendFailure>;
  firmwareReady(firmware: FirmwareReady, signal: AbortSignal): Promise<{ kind: 'ok' } | BackendFailure>;
};
