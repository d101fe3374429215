import { type Clock, isoTime } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { type Backoff, createBackoff } from '@station/kit/retry';
import type { Progress } from '@station/protocol/agent-api';
import { firmwareFileName } from '@station/protocol/firmware';
import type { FirmwareEntry } from '@station/protocol/firmware-manifest';
import { gunzip, sha256, type Cache } from './firmware-cache.ts';
import { type Attempt, attemptKey, type CachedFirmware } from './firmware-decide.ts';
import { download, type DownloadOutcome } from './firmware-download.ts';
import type { CacheDisk, OpenDownload } from './firmware-ports.ts';
import { verifyFirmware } from './image-decide.ts';
import { lostReason, type TolerantRead } from './unreadable-files.ts';

type FetchingParts = {
  disk: CacheDisk;
  directory: string;
  cache: Cache;
  attempts: Attempts;
  open: OpenDownload;
  clock: Clock;
  logger: AgentLogger;
  bootId: string;
  tolerantRead: TolerantRead;
  maxBytes: number;
  /** True while something more important is being fetched. */
  isLineTaken: () => boolean;
};

/** Fetches, checks and publishes the firmware of the manifest. */
export type Fetching = {
  /** Fetches the firmware into the cache, which holds `items` now. True when it is cached. */
  fetch(entry: FirmwareEntry, items: readonly CachedFirmware[], signal: AbortSignal): Promise<boolean>;
  current(): { name: string; version: string; progress: Progress } | null;
};

/** How often, and how long at most in one attempt, firmware waits for an update of the stack that is being fetched. */
const lineCheckMs = 1000;
const longestLineWaitMs = 10 * 60_000;

export function createFetching(parts: FetchingParts): Fetching {
  const { cache } = parts;
  let current: ReturnType<Fetching['current']> = null;
  return {
    current: () => current,
    fetch: async (entry, items, signal) => {
      const { name, version } = entry;
      try {
        await cache.prepare();
        const complete = await findComplete(parts, entry);
        const load = (): Promise<DownloadOutcome> =>
          loadFirmware(parts, entry, (progress) => (current = { name, version, progress }), signal);
        const outcome = complete ? adopted(complete) : await load();
        if (outcome.kind === 'refused') return refuse(parts, entry, outcome.reason);
        if (outcome.kind === 'failed') return fail(parts, entry, outcome);
        return await publish(parts, entry, outcome, items);
      } finally {
        current = null;
      }
    },
  };
}

/** The file of an earlier fetch that lacks only its metadata; a damaged one is removed. */
async function findComplete({ cache, logger }: FetchingParts, entry: FirmwareEntry): Promise<Uint8Array | null> {
  const complete = await cache.findComplete(entry);
  if (complete !== 'lost') return complete;
  await cache.removeFile(entry);
  logger.event('state_repaired', { file: firmwareFileName(entry.name, entry.version), reason: lostReason });
  return null;
}

function loadFirmware(
  parts: FetchingParts,
  entry: FirmwareEntry,
  show: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<DownloadOutcome> {
  const { name, version } = entry;
  const attempt = parts.attempts.failures(entry) + 1;
  const onProgress = (doneBytes: number, totalBytes: number | null): void => {
    const percent = totalBytes === null ? null : Math.min(100, (100 * doneBytes) / totalBytes);
    show({ doneBytes, totalBytes, percent });
  };
  const onStart = ({ doneBytes, totalBytes }: { doneBytes: number; totalBytes: number | null }): void => {
    onProgress(doneBytes, totalBytes);
    parts.logger.event('firmware_download_start', { name, version, bytes: totalBytes ?? 0, doneBytes, attempt });
  };
  return download(entry, { ...parts, lineIsFree: createLineWait(parts), onStart, onProgress }, signal);
}

/** Verifies a complete file and publishes it. False when the verification refuses it. */
async function publish(
  parts: FetchingParts,
  entry: FirmwareEntry,
  {
    path,
    bytes,
    discard,
  }: Pick<Extract<DownloadOutcome, { kind: 'ok' }>, 'bytes' | 'discard'> & { path: string | null },
  items: readonly CachedFirmware[],
): Promise<boolean> {
  const { cache, attempts, clock, logger } = parts;
  const { name, version } = entry;
  const before = items.find((item) => item.name === name) ?? null;
  const others = items.filter((item) => item !== before);
  const verdict = verifyFirmware({ bytes, sha256, gunzip }, entry, before, others);
  if (verdict.kind === 'refused') {
    if (path === null) await cache.removeFile(entry);
    await discard();
    return refuse(parts, entry, verdict.reason);
  }
  if (path !== null) logger.event('firmware_download_done', { name, version, bytes: bytes.length });
  const now = isoTime(clock.now());
  await cache.publish(entry, { from: path, size: bytes.length, facts: verdict, now });
  await discard();
  attempts.forget(entry);
  logger.event('firmware_ready', { name, version });
  return true;
}

function refuse({ attempts, logger }: FetchingParts, entry: FirmwareEntry, reason: string): false {
  attempts.note(entry, 'refused', reason, 0);
  logger.event('firmware_refused', { name: entry.name, version: entry.version, reason });
  return false;
}

function fail(
  { attempts, logger }: FetchingParts,
  entry: FirmwareEntry,
  { doneBytes, diskFull, reason, retryAfterMs }: Extract<DownloadOutcome, { kind: 'failed' }>,
): false {
  const { name, version } = entry;
  const retryInMs = attempts.note(entry, diskFull ? 'disk_full' : 'failed', reason, doneBytes, retryAfterMs);
  const attempt = attempts.failures(entry);
  logger.event('firmware_download_failed', { name, version, doneBytes, attempt, retryInMs, reason });
  return false;
}

/** A file that is complete under its name and lacks only its metadata. */
const adopted = (bytes: Uint8Array) => ({ kind: 'ok', path: null, bytes, discard: async () => undefined }) as const;

/**
 * Firmware waits while the images of a release are fetched, so that it does not slow down the update. The wait is limited: a registry
 * that does not answer must not block firmware.
 */
function createLineWait({ clock, isLineTaken }: FetchingParts): (signal: AbortSignal) => Promise<void> {
  let waitedMs = 0;
  return async (signal) => {
    while (isLineTaken() && waitedMs < longestLineWaitMs) {
      waitedMs += lineCheckMs;
      await clock.sleep(lineCheckMs, signal);
    }
  };
}

/** The failed fetches so far, and the times of their next tries. */
export type Attempts = {
  all(): ReadonlyMap<string, Attempt>;
  /** Tries of an entry that failed so far. */
  failures(entry: FirmwareEntry): number;
  /**
   * Records a failure.
   * @param doneBytes how much of the file is here: as long as it grows, the next try comes soon.
   * @param leastMs the wait that the server asks for.
   * @returns milliseconds until the next try.
   */
  note(entry: FirmwareEntry, kind: Attempt['kind'], reason: string, doneBytes: number, leastMs?: number): number;
  forget(entry: FirmwareEntry): void;
  /** Forgets attempts at entries that are no longer offered. */
  keepOnly(entries: readonly FirmwareEntry[]): void;
  /** All may be tried again now, or only what could not be fetched. */
  hurry(what: 'all' | 'failed'): void;
};

const firstRetryMs = 15_000;
/** Bad content at a server stays bad for a while, so do not download it again soon. */
const firstRefusalRetryMs = 3600_000;
const longestRefusalRetryMs = 24 * 3600_000;

type Noted = { attempt: Attempt; doneBytes: number; backoff: Backoff };

export function createAttempts(parts: { clock: Clock; checkIntervalMs: number; random: () => number }): Attempts {
  const { clock, checkIntervalMs, random } = parts;
  const records = new Map<string, Noted>();

  const backoffOf = (kind: Attempt['kind']): Backoff =>
    kind === 'refused'
      ? createBackoff({ initialMs: firstRefusalRetryMs, maxMs: longestRefusalRetryMs, jitter: 0.2, random })
      : createBackoff({
          initialMs: firstRetryMs,
          maxMs: Math.max(firstRetryMs, checkIntervalMs),
          jitter: 0.2,
          random,
        });

  return {
    all: () => new Map([...records].map(([key, { attempt }]) => [key, attempt])),
    failures: (entry) => records.get(attemptKey(entry))?.attempt.failures ?? 0,
    note: (entry, kind, reason, doneBytes, leastMs = 0) => {
      const key = attemptKey(entry);
      const before = records.get(key);
      const backoff = before && before.attempt.kind === kind ? before.backoff : backoffOf(kind);
      if (before && doneBytes > before.doneBytes) backoff.reset();
      const retryInMs = Math.max(backoff.nextMs(), leastMs);
      const failures = (before?.attempt.failures ?? 0) + 1;
      const attempt = { kind, reason, failures, dueMs: clock.monotonic() + retryInMs };
      records.set(key, { attempt, doneBytes, backoff });
      return retryInMs;
    },
    forget: (entry) => void records.delete(attemptKey(entry)),
    keepOnly: (entries) => {
      const wanted = new Set(entries.map(attemptKey));
      for (const key of records.keys()) if (!wanted.has(key)) records.delete(key);
    },
    hurry: (what) => {
      for (const record of records.values())
        if (what === 'all' || record.attempt.kind === what) record.attempt = { ...record.attempt, dueMs: -Infinity };
    },
  };
}
