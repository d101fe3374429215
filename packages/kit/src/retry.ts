import type { Clock } from './clock.ts';

export type Backoff = {
  /** Milliseconds to wait before the next attempt; grows with each call. */
  nextMs(): number;
  /** Starts over: call it after a success. */
  reset(): void;
};

/**
 * Delays that double from `initialMs` to `maxMs`, spread by `jitter` (0.2 is ±20 %) so that many stations do not come back
 * at once. No delay is longer than `maxMs`.
 * @param options.random uniform in [0, 1); a dependency so that tests are repeatable.
 */
export function createBackoff(options: {
  initialMs: number;
  maxMs: number;
  jitter: number;
  random: () => number;
}): Backoff {
  const { initialMs, maxMs, jitter, random } = options;
  let unspreadMs: number | null = null;
  return {
    nextMs: () => {
      unspreadMs = unspreadMs === null ? initialMs : Math.min(2 * unspreadMs, maxMs);
      const spread = 1 + jitter * (2 * random() - 1);
      return Math.round(Math.min(unspreadMs * spread, maxMs));
    },
    reset: () => {
      unspreadMs = null;
    },
  };
}

/** The same pause after each failure. */
export function constantBackoff(ms: number): Backoff {
  return { nextMs: () => ms, reset: () => undefined };
}

/**
 * Does `work` until it succeeds, and returns its result. Between two attempts it waits as long as `backoff` says.
 * @param options.onFailure hears of each failure before the wait; what it throws ends the retrying.
 * @throws the signal's reason when it aborts; what `work` throws after that is not reported.
 */
export async function retry<T>(
  work: (attempt: number) => Promise<T>,
  options: {
    clock: Pick<Clock, 'sleep'>;
    signal: AbortSignal;
    backoff: Backoff;
    onFailure: (failure: { error: unknown; attempt: number; retryInMs: number }) => void;
  },
): Promise<T> {
  const { clock, signal, backoff, onFailure } = options;
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      const result = await work(attempt);
      backoff.reset();
      return result;
    } catch (error) {
      signal.throwIfAborted();
      const retryInMs = backoff.nextMs();
      onFailure({ error, attempt, retryInMs });
      await clock.sleep(retryInMs, signal);
    }
  }
}
