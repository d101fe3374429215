import type { Clock } from './clock.ts';

/** A sleep that can be ended early. */
export type Waker = {
  /** Ends the sleep under way, or else the next one. Several wakes before a sleep are one. */
  wake(): void;
  /** Resolves after `ms` or when woken; rejects with the signal's reason. One sleep at a time. */
  sleep(ms: number, signal: AbortSignal): Promise<'woken' | 'elapsed'>;
};

export function createWaker(clock: Pick<Clock, 'sleep'>): Waker {
  let waking = new AbortController();
  return {
    wake: () => waking.abort(new Error('woken')),
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      try {
        waking.signal.throwIfAborted();
        await clock.sleep(ms, AbortSignal.any([signal, waking.signal]));
        return 'elapsed';
      } catch (error) {
        signal.throwIfAborted();
        if (!waking.signal.aborted) throw error;
        return 'woken';
      } finally {
        if (waking.signal.aborted) waking = new AbortController();
      }
    },
  };
}
