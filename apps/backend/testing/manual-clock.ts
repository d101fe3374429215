import type { Clock } from '@station/kit/clock';

/** A clock that only the test advances. */
export function manualClock(startMs = Date.parse('2026-03-01T12:00:00.000Z')): Clock & { advance(ms: number): void } {
  let now = startMs;
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (_ms, signal) =>
      new Promise((_resolve, reject) => {
        if (signal?.aborted) reject(signal.reason as Error);
        signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      }),
    advance: (ms) => {
      now += ms;
    },
  };
}
