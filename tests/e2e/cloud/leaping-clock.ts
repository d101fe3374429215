import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { systemClock, type Clock } from '@station/kit/clock';
import { pingEveryMs } from '../../../apps/backend/src/cloud/link-decide.ts';

/** Follows real time, and leaps forward on request. */
export type LeapingClock = Clock & {
  /** Wakes all sleepers that are due by then. */
  leap(ms: number): Promise<void>;
};

export function createLeapingClock(): LeapingClock {
  let aheadMs = 0;
  let leaping = new AbortController();
  const monotonic = (): number => systemClock.monotonic() + aheadMs;
  return {
    now: () => systemClock.now() + aheadMs,
    monotonic,
    sleep: async (ms, signal) => {
      const endMs = monotonic() + ms;
      for (;;) {
        signal?.throwIfAborted();
        const leftMs = endMs - monotonic();
        if (leftMs <= 0) return;
        const waking = AbortSignal.any([leaping.signal, ...(signal ? [signal] : [])]);
        await systemClock.sleep(leftMs, waking).catch(() => undefined);
      }
    },
    leap: async (ms) => {
      aheadMs += ms;
      const before = leaping;
      leaping = new AbortController();
      before.abort();
      // Lets the woken sleepers run first.
      await turn();
    },
  };
}

/**
 * Leaps over the time in which a silent connection is detected (specification, "Limits"): a ping and the wait for its pong.
 * Repeats this for a station that is too busy to read.
 */
export async function leapOverSilence(clock: LeapingClock, isFound: () => boolean): Promise<void> {
  await clock.leap(pingEveryMs);
  await clock.leap(pingEveryMs);
  for (let pauseMs = 250; ; pauseMs *= 2) {
    await sleep(pauseMs, undefined, { ref: false });
    if (isFound()) return;
    await clock.leap(pingEveryMs);
  }
}
