import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '@station/kit/clock';

export type SteppedClock = Clock & {
  /** Lets time pass: sleeps end in their order, and what they cause happens before the next. */
  advance(ms: number): Promise<void>;
};

/** A clock that only the test advances; sleeps end when their time has come. */
export function steppedClock(startMs = Date.parse('2026-03-01T12:00:00.000Z')): SteppedClock {
  type Sleeper = { atMs: number; wake: () => void };
  const sleepers = new Set<Sleeper>();
  let now = startMs;
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (ms, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if (signal?.aborted) return Promise.reject(signal.reason as Error);
      const abort = (): void => {
        sleepers.delete(sleeper);
        reject(signal?.reason as Error);
      };
      const sleeper = {
        atMs: now + Math.max(0, ms),
        wake: () => {
          sleepers.delete(sleeper);
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      signal?.addEventListener('abort', abort, { once: true });
      if (ms <= 0) sleeper.wake();
      else sleepers.add(sleeper);
      return promise;
    },
    advance: async (ms) => {
      const untilMs = now + ms;
      await settled();
      for (;;) {
        const next = [...sleepers].sort((a, b) => a.atMs - b.atMs)[0];
        if (next === undefined || next.atMs > untilMs) break;
        now = Math.max(now, next.atMs);
        next.wake();
        await settled();
      }
      now = untilMs;
    },
  };
}

/** What was started without waiting for time has happened. */
export async function settled(): Promise<void> {
  for (let count = 0; count < 3; count++) await turn();
}
