import type { Clock } from '@station/kit/clock';
import type { SimulatedProcess } from './process.ts';

/** Time of the simulated world, in milliseconds. */
export type WorldTime = { monotonicMs: number; wallMs: number };

export type VirtualClock = Clock & {
  /** Rejects all sleeps, because the process has ended. */
  stop(reason: unknown): void;
};

type Sleeper = { wakeMs: number; order: number; wake: () => void; stop: (reason: unknown) => void };

/**
 * A clock that jumps to the next wake-up as soon as everything sleeps: hours pass in milliseconds, always in the same
 * order.
 * @param onSleep sees each sleep before it begins; `signal` is the one given to `sleep`.
 */
export function createVirtualClock(
  time: WorldTime,
  process: SimulatedProcess,
  onSleep: (ms: number, signal: AbortSignal | undefined) => void = () => undefined,
): VirtualClock {
  const sleepers = new Set<Sleeper>();
  let order = 0;
  let waiting = false;

  const wakeFirst = (): void => {
    waiting = false;
    const [first, ...rest] = [...sleepers].sort((a, b) => a.wakeMs - b.wakeMs || a.order - b.order);
    if (!first) return;
    sleepers.delete(first);
    pass(time, Math.max(0, first.wakeMs - time.monotonicMs));
    first.wake();
    if (rest.length > 0) wakeSoon();
  };
  // Only promise jobs run between two sleeps; they are complete at the next turn of the event loop.
  const wakeSoon = (): void => {
    if (waiting) return;
    waiting = true;
    setImmediate(wakeFirst);
  };

  return {
    now: () => time.wallMs,
    monotonic: () => time.monotonicMs,
    sleep: async (ms, signal) => {
      process.alive();
      onSleep(ms, signal);
      signal?.throwIfAborted();
      if (ms <= 0) return;
      const woken = Promise.withResolvers<void>();
      const sleeper: Sleeper = {
        wakeMs: time.monotonicMs + ms,
        order: (order += 1),
        wake: woken.resolve,
        stop: woken.reject,
      };
      const onAbort = (): void => woken.reject(signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      sleepers.add(sleeper);
      wakeSoon();
      try {
        await woken.promise;
      } finally {
        sleepers.delete(sleeper);
        signal?.removeEventListener('abort', onAbort);
      }
      process.alive();
    },
    stop: (reason) => {
      for (const sleeper of sleepers) sleeper.stop(reason);
    },
  };
}

export function pass(time: WorldTime, ms: number): void {
  time.monotonicMs += ms;
  time.wallMs += ms;
}
