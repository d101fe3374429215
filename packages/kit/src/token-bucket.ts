export type TokenBucket = {
  /** @returns false: there are too many. */
  take(): boolean;
  /** Nothing was taken for so long that all may come at once again. */
  isFull(): boolean;
};

/**
 * Limits how often something happens: `burst` times at once, and then so often a second.
 * @param now monotonic time in milliseconds.
 */
export function createTokenBucket(
  { burst, perSecond }: { burst: number; perSecond: number },
  now: () => number,
): TokenBucket {
  let left = burst;
  let at = now();
  const fill = (): void => {
    const then = at;
    at = now();
    left = Math.min(burst, left + ((at - then) / 1_000) * perSecond);
  };
  return {
    take: () => {
      fill();
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    isFull: () => {
      fill();
      return left === burst;
    },
  };
}
