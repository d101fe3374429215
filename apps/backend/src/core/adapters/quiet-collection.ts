import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import type { Clock } from '@station/kit/clock';

const checkEveryMs = 15_000;
/** A collection blocks the process for a moment, so there is a minimum interval. */
const leastPauseMs = 60_000;
/** The program counts as quiet up to this share of busy time. */
const quietShare = 0.2;
/** A collection runs when the heap is this many times larger than after the last one. */
const worthwhileGrowth = 1.15;

export type Quietness = { busyShare: number; heapBytes: number; leftBytes: number; sinceMs: number };

/** Whether to collect now: the program is quiet, the last collection is long ago, and the heap has grown. Pure. */
export function isTimeToCollect({ busyShare, heapBytes, leftBytes, sinceMs }: Quietness): boolean {
  return busyShare < quietShare && sinceMs >= leastPauseMs && heapBytes > leftBytes * worthwhileGrowth;
}

/**
 * Returns memory to the system when the program is quiet. V8 keeps the heap of a burst (500 devices that connect) for as long as it can;
 * on a small computer, other programs need it. Without `--expose-gc` nothing happens.
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
      await clock.sleep(checkEveryMs, stopping.signal);
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
