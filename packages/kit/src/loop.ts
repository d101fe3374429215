import type { Clock } from './clock.ts';
import type { Backoff } from './retry.ts';
import type { Waker } from './wakeable.ts';

export type LoopParts = {
  /**
   * Does one turn of the work.
   * @returns milliseconds until the next turn unless it is woken sooner; `Infinity` waits for a wake; 0 continues at once.
   */
  turn(signal: AbortSignal): Promise<number>;
  waker: Waker;
  clock: Pick<Clock, 'sleep'>;
  signal: AbortSignal;
  /** Delays after failed turns. A wake does not shorten them; it ends the next wait. */
  backoff: Backoff;
  onFailure: (failure: { error: unknown; retryInMs: number }) => void;
};

/**
 * Repeats `turn` until the signal aborts. A failed turn is retried after the backoff; a successful one resets it.
 * @returns when the signal has aborted and the current turn has ended. Rejects only with errors of `onFailure`.
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
