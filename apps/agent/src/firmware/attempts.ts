import type { Clock } from '@station/kit/clock';
import { createBackoff, type Backoff } from '@station/kit/retry';
import type { FirmwareEntry } from '@station/protocol/firmware-manifest';
import { attemptKey, type Attempt } from './firmware-decide.ts';

/** How fetching went so far, and when it is tried again. */
export type Attempts = {
  all(): ReadonlyMap<string, Attempt>;
  /** Tries of an entry that failed so far. */
  failures(entry: FirmwareEntry): number;
  /**
   * Notes a failure.
   * @param doneBytes how much of the file is here: one that comes in pieces is tried again soon as long as pieces come.
   * @returns milliseconds until the next try.
   */
  note(entry: FirmwareEntry, kind: Attempt['kind'], reason: string, doneBytes: number): number;
  forget(entry: FirmwareEntry): void;
  /** Forgets attempts at what is not offered any more. */
  keepOnly(entries: readonly FirmwareEntry[]): void;
  /** Everything may be tried again now. */
  hurry(): void;
};

const firstRetryMs = 15_000;
/** Bad content at a server stays bad for a while; asking for all of it again and again helps nobody. */
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
    note: (entry, kind, reason, doneBytes) => {
      const key = attemptKey(entry);
      const before = records.get(key);
      const backoff = before && before.attempt.kind === kind ? before.backoff : backoffOf(kind);
      if (before && doneBytes > before.doneBytes) backoff.reset();
      const retryInMs = backoff.nextMs();
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
    hurry: () => {
      for (const record of records.values()) record.attempt = { ...record.attempt, dueMs: -Infinity };
    },
  };
}
