import type { Disk } from '@station/kit/durable-files';
import type { FirmwareReady, OtaDeviceTypes } from '@station/protocol/firmware';

/** What the firmware cache needs from the host besides durable files. */
export type CacheDisk = Disk & {
  /** Appends bytes to a file, created if missing (readable by its owner only); not durable. */
  append(path: string, bytes: Uint8Array): Promise<void>;
  /** Cuts a file to its first bytes; not durable. */
  truncate(path: string, size: number): Promise<void>;
  /** Bytes of a file; null when there is none. */
  size(path: string): Promise<number | null>;
  setMode(path: string, mode: number): Promise<void>;
  /** Bytes free to an ordinary user where `path` is or would be created; null when unknown. */
  freeBytes(path: string): Promise<number | null>;
};

export type Opened =
  | {
      kind: 'ok';
      /** Offset of the first byte that is sent: the requested one, or 0. */
      offset: number;
      /** Of the whole file; null when the server does not say. */
      totalBytes: number | null;
      /** Identifies the content in a later request; null when the server gives no usable one. */
      etag: string | null;
      /** Throws {@link ConnectionLost} when the connection breaks; other errors have other causes. */
      body: AsyncIterable<Uint8Array>;
    }
  /** Nothing after the offset: the partial file is longer than the file. */
  | { kind: 'past_end' }
  | { kind: 'rejected'; reason: string }
  | { kind: 'unavailable'; reason: string; /** The wait that the server asks for. */ retryAfterMs?: number };

/** Requests a file from `offset` on; `etag`: only if it is unchanged, else the whole. */
export type OpenDownload = (
  url: URL,
  options: { offset: number; etag: string | null; signal: AbortSignal },
) => Promise<Opened>;

/** The connection broke before all bytes arrived. */
export class ConnectionLost extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'ConnectionLost';
  }
}

/** `status`: of the backend's answer, if there was one. */
export type BackendFailure = { kind: 'failed'; reason: string; status?: number };

/** The backend's side of firmware: /api/ota. */
export type OtaBackend = {
  deviceTypes(signal: AbortSignal): Promise<{ kind: 'ok'; types: OtaDeviceTypes } | BackendFailure>;
  firmwareReady(firmware: FirmwareReady, signal: AbortSignal): Promise<{ kind: 'ok' } | BackendFailure>;
  /** Passes on descriptions of device types. An older backend, which does not take them, counts as ok. */
  announceTypes(types: readonly unknown[], signal: AbortSignal): Promise<{ kind: 'ok' } | BackendFailure>;
};
