import { setTimeout as delay } from 'node:timers/promises';

/** Time as a dependency, so that tests run hours in milliseconds. */
export type Clock = {
  /** Wall clock, milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds that only go forward; for durations. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
};

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    signal?.throwIfAborted();
    // setTimeout takes at most 31 bits, so a longer sleep is split.
    for (let left = ms; left > 0; left -= 2 ** 31 - 1) {
      try {
        await delay(Math.min(left, 2 ** 31 - 1), undefined, signal ? { signal } : {});
      } catch (error) {
        throw signal?.reason ?? error;
      }
    }
  },
};

/** ISO 8601 in UTC with milliseconds (contracts, section 0). */
export const isoTime = (epochMs: number): string => new Date(epochMs).toISOString();

/** The wall time of a monotonic moment, by the wall clock of now. */
export const wallTimeOf = (clock: Pick<Clock, 'now' | 'monotonic'>, monotonicMs: number): string =>
  isoTime(clock.now() + (monotonicMs - clock.monotonic()));
