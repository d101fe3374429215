import type { Clock } from './clock.ts';

/** A sleep that can be ended early. */
export type Waker = {
  /** Ends the current sleep, or the next one if there is none. Several wakes before a sleep count as one. */
  wake(): void;
  /** Resolves after `ms` or when woken; rejects with the signal's reason. One sleep at a time. */
  sleep(ms: number, signal: AbortSignal): Promise<'woken' | 'elapsed'>;
};

export function createWaker(clock: Pick<Clock, 'sleep'>): Waker {
  let isWoken = false;
  let sleeping: AbortController | null = null;
  return {
    wake: () => {
      isWoken = true;
      sleeping?.abort();
    },
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      // Not AbortSignal.any: it would add one dependent signal per sleep to a signal that lives for years.
      const controller = new AbortController();
      const end = (): void => controller.abort();
      signal.addEventListener('abort', end, { once: true });
      sleeping = controller;
      try {
        if (!isWoken) await clock.sleep(ms, controller.signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!controller.signal.aborted) throw error;
      } finally {
        signal.removeEventListener('abort', end);
        sleeping = null;
      }
      const outcome = isWoken ? 'woken' : 'elapsed';
      isWoken = false;
      return outcome;
    },
  };
}
