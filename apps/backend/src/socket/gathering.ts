import { setImmediate as afterReading } from 'node:timers/promises';
import type { Clock } from '@station/kit/clock';

export type Gathering<T> = {
  add(item: T): void;
  /** Delivers now what waits. */
  flush(): void;
  clear(): void;
};

const maxPauseMs = 20;
/** A delivery that took a millisecond is followed by four without: deliveries take a fifth of the time at most. */
const pauseFactor = 4;

/**
 * Gathers what is to be delivered together. The first after a pause goes at once, with all else of the same turn; then, the longer a delivery
 * took, the longer things wait for the next one, up to 20 ms.
 * @param deliver must not throw.
 */
export function createGathering<T>(
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  deliver: (items: readonly T[]) => void,
): Gathering<T> {
  let items: T[] = [];
  let running: Promise<void> | null = null;

  const flush = (): void => {
    const ready = items;
    items = [];
    if (ready.length > 0) deliver(ready);
  };
  const run = async (): Promise<void> => {
    await afterReading();
    while (items.length > 0) {
      const startedMs = clock.monotonic();
      flush();
      await clock.sleep(Math.min(pauseFactor * (clock.monotonic() - startedMs), maxPauseMs));
    }
    running = null;
  };
  return {
    add: (item) => {
      items.push(item);
      running ??= run();
    },
    flush,
    clear: () => {
      items = [];
    },
  };
}
