import type { Clock } from '@station/kit/clock';
import { after } from '@station/kit/timers';

/** What waits until it is quiet. Disposed: nothing waits any more. */
export type Soon = Disposable & {
  /** Calls `work` when this key was not used for a second, or at the latest after ten. */
  call(key: string, work: () => void): void;
  /** Calls `work` when this key was not used for so long, milliseconds. */
  later(key: string, quietForMs: number, work: () => void): void;
};

const quietMs = 1_000;
const longestMs = 10_000;

export function createSoon({ now }: Pick<Clock, 'now'>): Soon {
  const waiting = new Map<string, { since: number; timer: Disposable }>();
  const wait = (key: string, since: number, ms: number, work: () => void): void => {
    waiting.get(key)?.timer[Symbol.dispose]();
    const timer = after(ms, () => {
      waiting.delete(key);
      work();
    });
    waiting.set(key, { since, timer });
  };
  return {
    call: (key, work) => {
      const since = waiting.get(key)?.since ?? now();
      // What waits already reads all that came until then.
      if (waiting.has(key) && Math.abs(now() - since) > longestMs - quietMs) return;
      wait(key, since, quietMs, work);
    },
    later: (key, quietForMs, work) => wait(key, now(), quietForMs, work),
    [Symbol.dispose]: () => {
      for (const { timer } of waiting.values()) timer[Symbol.dispose]();
      waiting.clear();
    },
  };
}
