import type { Clock } from './clock.ts';

export type Backoff = {
  /** Milliseconds to wait before the next attempt; increases with each call. */
  nextMs(): number;
  /** Restarts with the first delay. Call it after a success. */
  reset(): void;
};

/**
 * Delays that double from `initialMs` to `maxMs`. `jitter` (0.2 is ±20 %) spreads them, so that many stations do not
 * reconnect at the same time. No delay is longer than `maxMs`.
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

/** The same delay after each failure. */
export function constantBackoff(ms: number): Backoff {
  return { nextMs: () => ms, reset: () => undefined };
}

/**
 * Repeats `work` until it succeeds, with the delays of `backoff`, and returns its result.
 * @param options.onFailure is called for each failure before the delay; an error that it throws ends the retries.
 * @throws the signal's reason when it aborts; later errors of `work` are not reported.
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
