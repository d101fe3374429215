import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import type { Clock } from '@station/kit/clock';

const lookEveryMs = 15_000;
/** Collecting stops everything for a moment: not again at once. */
const leastPauseMs = 60_000;
/** Part of the time that the program may be busy and still count as quiet. */
const quietShare = 0.2;
/** The heap is collected when it is this many times what the last collection left. */
const worthwhileGrowth = 1.15;

export type Quietness = { busyShare: number; heapBytes: number; leftBytes: number; sinceMs: number };

/** Whether now is the time to collect: nobody is waiting, it was not done lately, and there is something to be had. Pure. */
export function isTimeToCollect({ busyShare, heapBytes, leftBytes, sinceMs }: Quietness): boolean {
  return busyShare < quietShare && sinceMs >= leastPauseMs && heapBytes > leftBytes * worthwhileGrowth;
}

/**
 * Gives memory back when nothing is going on. V8 keeps the heap that a burst made it take (five hundred devices that connect)
 * for as long as it can; on a small computer others need it. Without `--expose-gc` nothing happens.
 */
export function startQuietCollection({ clock }: { clock: Clock }): AsyncDisposable {
  const collect = globalThis.gc;
  if (collect === undefined) return { [Symbol.asyncDispose]: async () => undefined };
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    let leftBytes = 0;
    let collectedAt = -Infinity;
    let before: EventLoopUtilization = performance.eventLoopUtilization();
    while (!stopping.signal.aborted) {
      await clock.sleep(lookEveryMs, stopping.signal);
      const now = performance.eventLoopUtilization();
      const busyShare = performance.eventLoopUtilization(now, before).utilization;
      before = now;
      const heapBytes = process.memoryUsage().heapTotal;
      if (!isTimeToCollect({ busyShare, heapBytes, leftBytes, sinceMs: clock.monotonic() - collectedAt })) continue;
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      leftBytes = process.memoryUsage().heapTotal;
      collectedAt = clock.monotonic();
    }
  };
  const running = run().catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}
