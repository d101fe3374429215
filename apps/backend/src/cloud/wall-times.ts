import type { Clock } from '@station/kit/clock';

/** A clock that was set is told again; the two clocks drifting apart by a little is not. */
const toleranceMs = 1_000;

/**
 * From the clock that only goes forward to the one on the wall. Asked again for the same moment it answers the same, to the millisecond, so that
 * what did not change does not look as if it had.
 * @param name of the moment, of which there is one at a time. @returns milliseconds since the epoch.
 */
export function createWallTimes(clock: Clock): (name: string, monotonicMs: number | null) => number | null {
  const known = new Map<string, { monotonicMs: number; wallMs: number }>();
  return (name, monotonicMs) => {
    if (monotonicMs === null) return null;
    const wallMs = Math.round(clock.now() + monotonicMs - clock.monotonic());
    const before = known.get(name);
    if (before?.monotonicMs === monotonicMs && Math.abs(before.wallMs - wallMs) < toleranceMs) return before.wallMs;
    known.set(name, { monotonicMs, wallMs });
    return wallMs;
  };
}
