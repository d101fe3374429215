import type { Clock } from '@station/kit/clock';

/** A wait that can be ended early; what happens between two waits ends the next one at once. */
export type Waker = {
  wake(): void;
  /** From here on a wake counts for the next wait. */
  arm(): void;
  /** Resolves after `ms` or when woken; rejects with the signal's reason. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
};

export function createWaker(clock: Clock): Waker {
  let woken = new AbortController();
  return {
    wake: () => woken.abort(new Error('woken')),
    arm: () => {
      if (woken.signal.aborted) woken = new AbortController();
    },
    wait: async (ms, signal) => {
      signal.throwIfAborted();
      if (woken.signal.aborted) return;
      const either = AbortSignal.any([signal, woken.signal]);
      await clock.sleep(ms, either).catch((error: unknown) => {
        signal.throwIfAborted();
        if (!woken.signal.aborted) throw error;
      });
    },
  };
}
