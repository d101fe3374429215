import type { Clock } from './clock.ts';

/** Counts events that are too frequent to log each one. `Detail` describes one of them, for example its topic. */
export type RateLimitedCounter<Key extends string, Detail = undefined> = {
  count(key: Key, detail: Detail): void;
  /** Count since the start, of one key or of all. */
  total(key?: Key): number;
};

/**
 * Reports the first of each key immediately, then at most once per `everyMs` (default: a minute).
 * @param options.report receives the count since the last report, the total count, and the detail of the latest.
 */
export function createRateLimitedCounter<Key extends string, Detail = undefined>(options: {
  clock: Pick<Clock, 'monotonic'>;
  everyMs?: number;
  report: (entry: { key: Key; sinceReport: number; total: number; detail: Detail }) => void;
}): RateLimitedCounter<Key, Detail> {
  const { clock, everyMs = 60_000, report } = options;
  const entries = new Map<Key, { total: number; sinceReport: number; reportedMs: number }>();
  return {
    count: (key, detail) => {
      const entry = entries.get(key) ?? { total: 0, sinceReport: 0, reportedMs: -Infinity };
      entries.set(key, entry);
      entry.total += 1;
      entry.sinceReport += 1;
      const nowMs = clock.monotonic();
      if (nowMs - entry.reportedMs < everyMs) return;
      const { sinceReport, total } = entry;
      entry.sinceReport = 0;
      entry.reportedMs = nowMs;
      report({ key, sinceReport, total, detail });
    },
    total: (key) => {
      if (key !== undefined) return entries.get(key)?.total ?? 0;
      return entries.values().reduce((sum, entry) => sum + entry.total, 0);
    },
  };
}
