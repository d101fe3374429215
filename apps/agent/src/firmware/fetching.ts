import { isoTime, type Clock } from '@station/kit/clock';
import type { Report } from '@station/kit/report';
import { createBackoff, type Backoff } from '@station/kit/retry';
import type { Progress } from '@station/protocol/agent-api';
import type { FirmwareEntry } from '@station/protocol/firmware-manifest';
import type { Cache } from './cache.ts';
import { attemptKey, type Attempt, type CachedFirmware } from './decide.ts';
import { download, type DownloadOutcome } from './download.ts';
import type { CacheDisk, OpenDownload } from './ports.ts';
import { verifyFirmware } from './verify.ts';

export type FetchingParts = {
  disk: CacheDisk;
  directory: string;
  cache: Cache;
  open: OpenDownload;
  clock: Clock;
  report: Report;
  bootId: string;
  maxBytes: number;
  checkIntervalMs: number;
  /** True while something else, that matters more, is fetched. */
  isLineTaken: () => boolean;
  random: () => number;
};

/** Fetching, checking and publishing what the manifest offers, and how that went so far. */
export type Fetching = {
  /** Brings the firmware into the cache, which holds `items` now. True when it is there. */
  fetch(entry: FirmwareEntry, items: readonly CachedFirmware[], signal: AbortSignal): Promise<boolean>;
  attempts(): ReadonlyMap<string, Attempt>;
  /** Forgets attempts at what is not offered any more. */
  keepOnly(entries: readonly FirmwareEntry[]): void;
  /** Everything may be tried again now. */
  hurry(): void;
  current(): { name: string; version: string; progress: Progress } | null;
};

const firstRetryMs = 15_000;
/** Bad content at a server stays bad for a while; asking for all of it again and again helps nobody. */
const firstRefusalRetryMs = 3600_000;
const longestRefusalRetryMs = 24 * 3600_000;
/** How often, and how long at most in one attempt, firmware waits for an update of the stack that is being fetched. */
const lineCheckMs = 1000;
const longestLineWaitMs = 10 * 60_000;

export function createFetching(parts: FetchingParts): Fetching {
  const { cache, clock, report, random, checkIntervalMs } = parts;
  const attempts = new Map<string, Attempt>();
  const backoffs = new Map<string, Backoff>();
  let current: ReturnType<Fetching['current']> = null;

  const retryAfter = (key: string, kind: Attempt['kind']): number => {
    const [initialMs, maxMs] =
      kind === 'refused'
        ? [firstRefusalRetryMs, longestRefusalRetryMs]
        : [firstRetryMs, Math.max(firstRetryMs, checkIntervalMs)];
    const backoff = backoffs.get(`${kind} ${key}`) ?? createBackoff({ initialMs, maxMs, jitter: 0.2, random });
    backoffs.set(`${kind} ${key}`, backoff);
    return backoff.nextMs();
  };

  /** @returns milliseconds until the next try. */
  const note = (entry: FirmwareEntry, kind: Attempt['kind'], reason: string): number => {
    const key = attemptKey(entry);
    const retryInMs = retryAfter(key, kind);
    const failures = (attempts.get(key)?.failures ?? 0) + 1;
    attempts.set(key, { kind, reason, failures, dueMs: clock.monotonic() + retryInMs });
    return retryInMs;
  };

  const refuse = (entry: FirmwareEntry, reason: string): false => {
    note(entry, 'refused', reason);
    report.event('firmware_refused', { name: entry.name, version: entry.version, reason });
    return false;
  };

  const load = (entry: FirmwareEntry, signal: AbortSignal): Promise<DownloadOutcome> => {
    const { name, version } = entry;
    const attempt = (attempts.get(attemptKey(entry))?.failures ?? 0) + 1;
    const onProgress = (doneBytes: number, totalBytes: number | null): void => {
      const percent = totalBytes === null ? null : Math.min(100, (100 * doneBytes) / totalBytes);
      current = { name, version, progress: { doneBytes, totalBytes, percent } };
    };
    const onStart = ({ doneBytes, totalBytes }: { doneBytes: number; totalBytes: number | null }): void => {
      onProgress(doneBytes, totalBytes);
      report.event('firmware_download_start', { name, version, bytes: totalBytes ?? 0, doneBytes, attempt });
    };
    return download(entry, { ...parts, lineIsFree: createLineWait(parts), onStart, onProgress }, signal);
  };

  return {
    attempts: () => attempts,
    current: () => current,
    keepOnly: (entries) => {
      const wanted = new Set(entries.map(attemptKey));
      for (const key of attempts.keys()) if (!wanted.has(key)) attempts.delete(key);
      for (const key of backoffs.keys()) if (!wanted.has(key.slice(key.indexOf(' ') + 1))) backoffs.delete(key);
    },
    hurry: () => {
      for (const [key, attempt] of attempts) attempts.set(key, { ...attempt, dueMs: -Infinity });
    },
    fetch: async (entry, items, signal) => {
      const { name, version } = entry;
      try {
        await cache.prepare();
        const complete = await cache.findComplete(entry);
        const outcome = complete ? adopted(complete) : await load(entry, signal);
        if (outcome.kind === 'refused') return refuse(entry, outcome.reason);
        if (outcome.kind === 'failed') {
          const { doneBytes, reason } = outcome;
          const retryInMs = note(entry, outcome.diskFull ? 'disk_full' : 'failed', reason);
          const attempt = attempts.get(attemptKey(entry))?.failures ?? 1;
          report.event('firmware_download_failed', { name, version, doneBytes, attempt, retryInMs, reason });
          return false;
        }
        const { path, bytes, discard } = outcome;
        const before = items.find((item) => item.name === name) ?? null;
        const others = items.filter((item) => item !== before);
        const verdict = verifyFirmware(bytes, entry, before, others);
        if (verdict.kind === 'refused') {
          if (path === null) await cache.removeFile(entry);
          await discard();
          return refuse(entry, verdict.reason);
        }
        if (path !== null) report.event('firmware_download_done', { name, version, bytes: bytes.length });
        const now = isoTime(clock.now());
        await cache.publish(entry, { from: path, size: bytes.length, facts: verdict, now });
        await discard();
        attempts.delete(attemptKey(entry));
        report.event('firmware_ready', { name, version });
        return true;
      } finally {
        current = null;
      }
    },
  };
}

/** What stands complete under its name already, but for its metadata. */
const adopted = (bytes: Uint8Array) => ({ kind: 'ok', path: null, bytes, discard: async () => undefined }) as const;

/**
 * Firmware waits while the images of a release are fetched: an update must not take longer for it. Not for ever: a registry that does not
 * answer must not keep devices from theirs.
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
