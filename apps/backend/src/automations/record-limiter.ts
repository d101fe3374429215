import type { Clock } from '@station/kit/clock';

const windowMs = 60_000;

/** @returns whether this record may be stored. */
export type RecordLimiter = (key: string, perMinute: number) => boolean;

/** Limits how often in a minute a kind of record is stored, so that frequent records do not fill the database. */
export function createRecordLimiter(clock: Pick<Clock, 'monotonic'>): RecordLimiter {
  const windows = new Map<string, { sinceMs: number; count: number }>();
  return (key, perMinute) => {
    const now = clock.monotonic();
    const known = windows.get(key);
    const window = known !== undefined && now - known.sinceMs < windowMs ? known : { sinceMs: now, count: 0 };
    windows.delete(key);
    windows.set(key, window);
    // The least recently used entries come first.
    for (const [old, { sinceMs }] of windows) {
      if (now - sinceMs < windowMs) break;
      windows.delete(old);
    }
    window.count += 1;
    return window.count <= perMinute;
  };
}
