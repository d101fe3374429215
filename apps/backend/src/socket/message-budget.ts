/** A page pings and renews its log-in a few times a minute. */
const burst = 60;
const perSecond = 2;

/**
 * What one connection may send: each message costs a reading of the database, or an answer that waits for a reader.
 * @param now monotonic time in milliseconds. @returns takes one message; false: there are too many.
 */
export function createMessageBudget(now: () => number): () => boolean {
  let left = burst;
  let at = now();
  return () => {
    const then = at;
    at = now();
    left = Math.min(burst, left + ((at - then) / 1000) * perSecond);
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
