import type { Clock } from '@station/kit/clock';
import { after } from '@station/kit/timers';

/** What waits until it is quiet. Disposed: nothing waits any more. */
export type Soon = Disposable & {
  /** Calls `work` when this key was not used for a second, or at the latest after ten. */
  call(key: string, work: () => void): void;
};

const quietMs = 1_000;
const longestMs = 10_000;

export function createSoon({ now }: Pick<Clock, 'now'>): Soon {
  const waiting = new Map<string, { since: number; timer: Disposable }>();
  return {
    call: (key, work) => {
      const before = waiting.get(key);
      const since = before?.since ?? now();
      // What waits already reads all that came until then.
      if (before !== undefined && Math.abs(now() - since) > longestMs - quietMs) return;
      before?.timer[Symbol.dispose]();
      const timer = after(quietMs, () => {
        waiting.delete(key);
        work();
      });
      waiting.set(key, { since, timer });
    },
    [Symbol.dispose]: () => {
      for (const { timer } of waiting.values()) timer[Symbol.dispose]();
      waiting.clear();
    },
  };
}
