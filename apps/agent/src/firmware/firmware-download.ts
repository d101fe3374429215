import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import type { Clock } from '@station/kit/clock';
import { readText, temporaryPath, writeDurable } from '@station/kit/durable-files';
import { parseAs } from '@station/kit/json';
import type { FirmwareEntry } from '@station/protocol/firmware-manifest';
import { type CacheDisk, ConnectionLost, type OpenDownload, type Opened } from './firmware-ports.ts';
import { checksumOf } from './firmware-cache.ts';
import { clearPath, lostReason, type TolerantRead } from './unreadable-files.ts';

type DownloadParts = {
  disk: CacheDisk;
  directory: string;
  open: OpenDownload;
  clock: Clock;
  bootId: string;
  /** Retries for unreadable files. */
  tolerantRead: TolerantRead;
  /** Largest file, bytes. */
  maxBytes: number;
  /** Resolves when firmware may use the connection. */
  lineIsFree: (signal: AbortSignal) => Promise<void>;
  onStart: (start: { doneBytes: number; totalBytes: number | null }) => void;
  onProgress: (doneBytes: number, totalBytes: number | null) => void;
};

export type DownloadOutcome =
  /** `path`: the whole file, synced, with the checksum it is to have; `bytes`: its content. */
  | { kind: 'ok'; path: string; bytes: Uint8Array; discard: () => Promise<void> }
  /** The firmware is not at fault: try later. The partial file is kept, unless the disk is full. */
  | {
      kind: 'failed';
      doneBytes: number;
      reason: string;
      diskFull: boolean;
      /** The wait that the server asks for. */ retryAfterMs?: number;
    }
  /** The firmware must not reach a device. */
  | { kind: 'refused'; reason: string };

/** Free space that firmware must leave to the rest of the station. */
const reservedBytes = 32 * 2 ** 20;
/** Longest single download: a slower one makes way for others and continues later. */
const longestStretchMs = 30 * 60_000;
/** A power cut loses at most this part of the file, or so many bytes of a small one. */
const syncShare = 0.04;
const leastSyncBytes = 16 * 1024;

/**
 * Fetches a file into the cache's folder, continuing an earlier attempt, and verifies the checksum of the whole file
 * on disk.
 * @throws what the disk throws, except when it is full.
 */
export async function download(
  entry: FirmwareEntry,
  parts: DownloadParts,
  signal: AbortSignal,
): Promise<DownloadOutcome> {
  const partial = createPartial(parts.disk, parts.directory, entry.checksum.slice('sha256:'.length));
  const first = await fetchWhole(entry, partial, parts, signal);
  if (first.kind !== 'ok') return first;
  const readWhole = () => parts.tolerantRead(partial.path, () => parts.disk.read(partial.path));
  const isRight = (bytes: Uint8Array | null): bytes is Uint8Array =>
    bytes !== null && checksumOf(bytes) === entry.checksum;
  let reading = await readWhole();
  if (reading.kind === 'ok' && reading.value !== null && !isRight(reading.value) && first.resumed) {
    // The pieces may be of different contents: fetch the whole file at once.
    await partial.discard();
    const again = await fetchWhole(entry, partial, parts, signal);
    if (again.kind !== 'ok') return again;
    reading = await readWhole();
  }
  if (reading.kind === 'ok' && isRight(reading.value)) {
    return { kind: 'ok', path: partial.path, bytes: reading.value, discard: partial.discard };
  }
  await partial.discard();
  // The firmware is not at fault: a new download uses other blocks of the disk.
  if (reading.kind === 'lost') return failed(0, lostReason);
  return { kind: 'refused', reason: 'the checksum is not that of the manifest' };
}

type Fetched = { kind: 'ok'; resumed: boolean } | Exclude<DownloadOutcome, { kind: 'ok' }>;

async function fetchWhole(
  entry: FirmwareEntry,
  partial: Partial,
  parts: DownloadParts,
  signal: AbortSignal,
): Promise<Fetched> {
  const kept = await partial.open(parts.bootId, parts.tolerantRead);
  const progress = { doneBytes: kept.bytes };
  try {
    return await fetchRest(entry, partial, { ...parts, signal, kept, progress });
  } catch (error) {
    if (error instanceof ConnectionLost) return failed(progress.doneBytes, error.message);
    if (!isDiskFull(error)) throw error;
    // The rest of the station needs the space more.
    await partial.discard();
    return { kind: 'failed', doneBytes: 0, reason: 'the disk is full', diskFull: true };
  }
}

type Run = DownloadParts & {
  signal: AbortSignal;
  kept: { bytes: number; note: PartialNote | null };
  progress: { doneBytes: number };
};

async function fetchRest(entry: FirmwareEntry, partial: Partial, run: Run): Promise<Fetched> {
  const { kept, signal } = run;
  const known = entry.size ?? kept.note?.totalBytes ?? null;
  if (known !== null && kept.bytes > 0 && kept.bytes >= known) {
    run.onStart({ doneBytes: kept.bytes, totalBytes: known });
    return { kind: 'ok', resumed: true };
  }
  const scarce = await findLackOfSpace(run, (known ?? 0) - kept.bytes);
  if (scarce) return scarce;
  // A download that is left early must not continue in the background.
  const leaving = new AbortController();
  try {
    // Another address may serve other content under the same name.
    const etag = kept.note?.url === entry.url ? kept.note.etag : null;
    const opened = await run.open(new URL(entry.url), {
      offset: kept.bytes,
      etag,
      signal: AbortSignal.any([signal, leaving.signal]),
    });
    if (opened.kind === 'unavailable') return failed(kept.bytes, opened.reason, opened.retryAfterMs);
    if (opened.kind === 'rejected' && kept.bytes === 0) return { kind: 'refused', reason: opened.reason };
    if (opened.kind === 'rejected') {
      // A server with broken range support may still send the whole file.
      await partial.discard();
      return failed(0, opened.reason);
    }
    if (opened.kind === 'past_end') {
      await partial.discard();
      return failed(0, 'the file on the server is shorter than the partial download');
    }
    return await receive(entry, partial, run, opened);
  } finally {
    leaving.abort();
  }
}

async function receive(
  entry: FirmwareEntry,
  partial: Partial,
  run: Run,
  { offset, totalBytes, etag, body }: Extract<Opened, { kind: 'ok' }>,
): Promise<Fetched> {
  const { disk, clock, maxBytes, signal, progress } = run;
  const refusal = findRefusal(entry, totalBytes, maxBytes);
  if (refusal !== null) {
    await partial.discard();
    return { kind: 'refused', reason: refusal };
  }
  if (offset === 0 && run.kept.bytes > 0) await partial.discard();
  progress.doneBytes = offset;
  const total = entry.size ?? totalBytes;
  const scarce = await findLackOfSpace(run, (total ?? 0) - offset);
  if (scarce) return scarce;
  const note = { url: entry.url, etag, totalBytes: total, bootId: run.bootId, syncedBytes: offset };
  // The last bytes of an earlier attempt in this boot may not be on disk yet.
  if (offset > 0) await disk.sync(partial.path);
  await partial.note(note);
  run.onStart({ doneBytes: offset, totalBytes: total });
  const step = Math.max(leastSyncBytes, Math.floor((total ?? maxBytes) * syncShare));
  const untilMs = clock.monotonic() + longestStretchMs;
  for await (const chunk of body) {
    signal.throwIfAborted();
    if (progress.doneBytes + chunk.length > (total ?? maxBytes)) {
      await partial.discard();
      return { kind: 'refused', reason: `longer than ${total ?? maxBytes} bytes` };
    }
    await disk.append(partial.path, chunk);
    progress.doneBytes += chunk.length;
    run.onProgress(progress.doneBytes, total);
    if (progress.doneBytes - note.syncedBytes >= step) {
      await disk.sync(partial.path);
      note.syncedBytes = progress.doneBytes;
      await partial.note(note);
      const lack = await findLackOfSpace(run, 0);
      if (lack) return lack;
    }
    if (clock.monotonic() > untilMs) return failed(progress.doneBytes, 'slow; it makes way for others');
    await run.lineIsFree(signal);
  }
  if (total !== null && progress.doneBytes < total)
    return failed(progress.doneBytes, 'the connection to the server broke');
  if (progress.doneBytes === 0) return { kind: 'refused', reason: 'empty' };
  await disk.sync(partial.path);
  await disk.sync(run.directory);
  return { kind: 'ok', resumed: offset > 0 };
}

function findRefusal(entry: FirmwareEntry, totalBytes: number | null, maxBytes: number): string | null {
  if (totalBytes === null) return null;
  if (totalBytes > maxBytes) return `larger than ${maxBytes} bytes`;
  if (entry.size === null || entry.size === totalBytes) return null;
  return `the server has ${totalBytes} bytes of it, the manifest says ${entry.size}`;
}

async function findLackOfSpace({ disk, directory, progress }: Run, needed: number): Promise<Fetched | null> {
  const free = await disk.freeBytes(directory);
  if (free === null || free >= needed + reservedBytes) return null;
  const missing = Math.ceil((needed + reservedBytes - free) / 2 ** 20);
  return {
    kind: 'failed',
    doneBytes: progress.doneBytes,
    reason: `too little space on the disk: ${missing} MiB more are needed`,
    diskFull: true,
  };
}

const failed = (doneBytes: number, reason: string, retryAfterMs = 0): Exclude<Fetched, { kind: 'ok' }> => ({
  kind: 'failed',
  doneBytes,
  reason,
  diskFull: false,
  retryAfterMs,
});

const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');

/** What is needed to continue a download after a stop of the agent or the machine. */
const Note = Type.Object({
  url: Type.String(),
  etag: Type.Union([Type.String(), Type.Null()]),
  totalBytes: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  /** Boot in which it was written. A later boot trusts only synced bytes: the power may have been cut. */
  bootId: Type.String(),
  syncedBytes: Type.Integer({ minimum: 0 }),
});
type PartialNote = Static<typeof Note>;

/** An unfinished download in the cache's folder: `.<sha256>.part` and its note. The name is the wanted checksum. */
type Partial = {
  path: string;
  /** The trusted bytes and their note; the file is cut to them. Without a readable note there are none. */
  open(bootId: string, tolerantRead: TolerantRead): Promise<{ bytes: number; note: PartialNote | null }>;
  note(note: PartialNote): Promise<void>;
  discard(): Promise<void>;
};

/** @param checksum 64 hex digits. */
export function createPartial(disk: CacheDisk, directory: string, checksum: string): Partial {
  const path = join(directory, `.${checksum}.part`);
  const notePath = `${path}.json`;
  const discard = async (): Promise<void> => {
    // Write the note last: without it the bytes do not count.
    await clearPath(disk, path);
    await clearPath(disk, temporaryPath(notePath));
    await clearPath(disk, notePath);
  };
  return {
    path,
    discard,
    note: (note) => writeDurable(disk, notePath, `${JSON.stringify(note)}\n`),
    open: async (bootId, tolerantRead) => {
      const reading = await tolerantRead(notePath, () => readNote(disk, notePath));
      if (reading.kind === 'lost') await discard();
      const note = reading.kind === 'lost' ? null : reading.value;
      const size = await disk.size(path);
      const kept =
        note === null || size === null ? 0 : note.bootId === bootId ? size : Math.min(note.syncedBytes, size);
      if (note !== null && kept > 0) {
        if (kept < (size ?? 0)) await disk.truncate(path, kept);
        return { bytes: kept, note };
      }
      if (size !== null) await clearPath(disk, path);
      return { bytes: 0, note: null };
    },
  };
}

/** Checksums of the unfinished downloads in a folder. */
export async function listPartials(disk: CacheDisk, directory: string): Promise<string[]> {
  const found = (await disk.list(directory)).map(
    (file) => /^\.{1,2}([0-9a-f]{64})\.part(\.json)?(\.tmp)?$/.exec(file)?.[1],
  );
  return [...new Set(found.filter((checksum) => checksum !== undefined))];
}

const readNote = async (disk: CacheDisk, path: string): Promise<PartialNote | null> =>
  parseAs(Note, await readText(disk, path));
