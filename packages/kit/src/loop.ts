import type { Clock } from './clock.ts';
import type { Backoff } from './retry.ts';
import type { Waker } from './wakeable.ts';

export type LoopParts = {
  /**
   * One turn of the work.
   * @returns milliseconds until the next turn unless it is woken sooner; `Infinity` waits for a wake; 0 continues at once.
   */
  turn(signal: AbortSignal): Promise<number>;
  waker: Waker;
  clock: Pick<Clock, 'sleep'>;
  signal: AbortSignal;
  /** How long to wait after a turn that failed. A wake does not shorten this wait: it counts for the next one. */
  backoff: Backoff;
  onFailure: (failure: { error: unknown; retryInMs: number }) => void;
};

/**
 * Does `turn` again and again until the signal aborts. A turn that fails is repeated after the backoff; one that succeeds
 * resets it.
 * @returns when the signal has aborted and the turn under way has ended. Rejects only with what `onFailure` throws.
 */
export async function runLoop({ turn, waker, clock, signal, backoff, onFailure }: LoopParts): Promise<void> {
  while (!signal.aborted) {
    try {
      const waitMs = await turn(signal);
      backoff.reset();
      if (waitMs > 0 && !signal.aborted) await waker.sleep(waitMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      const retryInMs = backoff.nextMs();
      onFailure({ error, retryInMs });
      await clock.sleep(retryInMs, signal).catch(() => undefined);
    }
  }
}
