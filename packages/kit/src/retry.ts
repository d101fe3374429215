import { ExponentialBackoff, type IBackoff } from 'cockatiel';

export type Backoff = {
  /** Milliseconds to wait before the next attempt; grows with each call. */
  nextMs(): number;
  /** Starts over: call it after a success. */
  reset(): void;
};

/**
 * Capped exponential delays, spread by `jitter` (0.2 is ±20 %) so that many stations do not come back at once.
 * @param random uniform in [0, 1); a dependency so that tests are repeatable.
 */
export function createBackoff(options: {
  initialMs: number;
  maxMs: number;
  jitter: number;
  random: () => number;
}): Backoff {
  const factory = new ExponentialBackoff<{ delay: number }>({
    initialDelay: options.initialMs,
    maxDelay: options.maxMs,
    exponent: 2,
    generator: (state: { delay: number } | undefined, shape) => {
      const delay = state ? Math.min(state.delay * shape.exponent, shape.maxDelay) : shape.initialDelay;
      const spread = 1 + options.jitter * (2 * options.random() - 1);
      return [Math.round(Math.min(delay * spread, shape.maxDelay)), { delay }];
    },
  });
  let current: IBackoff<unknown> | null = null;
  return {
    nextMs: () => {
      current = current ? current.next(undefined) : factory.next();
      return current.duration;
    },
    reset: () => {
      current = null;
    },
  };
}
