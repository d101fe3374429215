import type { Clock } from '@station/kit/clock';

const windowMs = 60_000;

/**
 * Keeps what happens all the time from filling the records: says how often in a minute something of a kind may be written down.
 * @returns whether it may be written down this time.
 */
export function createRecordLimiter(clock: Clock): (key: string, perMinute: number) => boolean {
  const windows = new Map<string, { sinceMs: number; count: number }>();
  return (key, perMinute) => {
    const now = clock.monotonic();
    const known = windows.get(key);
    const window = known !== undefined && now - known.sinceMs < windowMs ? known : { sinceMs: now, count: 0 };
    windows.delete(key);
    windows.set(key, window);
    // Those that were not used for longest come first.
    for (const [old, { sinceMs }] of windows) {
      if (now - sinceMs < windowMs) break;
      windows.delete(old);
    }
    window.count += 1;
    return window.count <= perMinute;
  };
}
