import { nextTurn } from '@station/kit/timers';
import type { Clock } from '@station/kit/clock';

export type InboundQueue = {
  /** @param text null for a binary frame. */
  push(text: string | null): void;
  close(): void;
};

/** Longest work in a row. */
const sliceMs = 2;
/** After it everybody else has this many times as long; what waits for a disk is no work, hence the limit. */
const restFactor = 9;
const maxRestMs = 500;

/**
 * Handles the frames of the cloud in order, one in each turn of the event loop. Reading pauses meanwhile, so TCP slows down a cloud that
 * floods the station: little is kept here, nothing is dropped, and local users do not notice.
 */
export function createInboundQueue(parts: {
  /** Stops and goes on reading. */
  pause(): void;
  resume(): void;
  /** The next frame waits for the returned promise, which must not reject. */
  deal(text: string | null): Promise<void> | undefined;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
}): InboundQueue {
  const { clock } = parts;
  const closing = new AbortController();
  const { signal } = closing;
  let waiting: (string | null)[] = [];
  let isWorking = false;

  const work = async (): Promise<void> => {
    parts.pause();
    let startMs = clock.monotonic();
    // Frames that arrive meanwhile are added to this array.
    for (const text of waiting) {
      await parts.deal(text);
      await nextTurn();
      const tookMs = clock.monotonic() - startMs;
      if (tookMs >= sliceMs) {
        await clock.sleep(Math.min(restFactor * tookMs, maxRestMs), signal).catch(() => undefined);
        startMs = clock.monotonic();
      }
      if (signal.aborted) return;
    }
    waiting = [];
    isWorking = false;
    parts.resume();
  };
  return {
    push: (text) => {
      if (signal.aborted) return;
      waiting.push(text);
      if (isWorking) return;
      isWorking = true;
      void work();
    },
    close: () => closing.abort(),
  };
}
