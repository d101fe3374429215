import { createInboundBudget, type BudgetLimits } from './inbound-budget.ts';

export type InboundQueue = {
  /** @param text null for a binary frame. */
  push(text: string | null, bytes: number): void;
  /** The frame that is being dealt with holds so many calls, or people. */
  charge(calls: number): void;
  /** Whether what comes next has to wait. */
  isHeld(): boolean;
  /** The frame that is being dealt with was something that the station had asked for: it costs nothing. */
  forgive(): void;
  close(): void;
};

/** So long at a stretch; whoever is at home is served in between. */
const sliceMs = 2;

/**
 * Deals with the cloud's frames in their order, a little at a time and no faster than the budget allows. While any wait, nothing more is read:
 * TCP holds a cloud back that floods the station, and those at home do not notice. Nothing is thrown away.
 */
export function createInboundQueue(parts: {
  limits: BudgetLimits;
  /** Stops and goes on reading. */
  pause(): void;
  resume(): void;
  /** What it returns is waited for, before the next one: must not reject. */
  deal(text: string | null): Promise<void> | undefined;
  /** Milliseconds that only go forward. */
  monotonic?: () => number;
}): InboundQueue {
  const budget = createInboundBudget(parts.limits);
  const { monotonic = () => performance.now() } = parts;
  let waiting: { text: string | null; bytes: number }[] = [];
  let next = 0;
  let isBusy = false;
  let isClosed = false;
  let dealing = 0;

  const later = (ms: number): void => {
    if (ms > 0) setTimeout(work, ms).unref();
    else setImmediate(work);
  };
  const work = (): void => {
    const endMs = monotonic() + sliceMs;
    while (next < waiting.length && !isClosed) {
      const nowMs = monotonic();
      if (nowMs > endMs) return later(0);
      const frame = waiting[next]!;
      const waitMs = budget.take(frame.bytes, nowMs);
      if (waitMs > 0) return later(waitMs);
      next += 1;
      dealing = frame.bytes;
      const dealt = parts.deal(frame.text);
      if (dealt !== undefined) return void dealt.then(work);
    }
    waiting = [];
    next = 0;
    isBusy = false;
    if (!isClosed) parts.resume();
  };

  const hold = (): void => {
    isBusy = true;
    parts.pause();
  };

  return {
    push: (text, bytes) => {
      if (isClosed) return;
      if (!isBusy && budget.take(bytes, monotonic()) === 0) {
        dealing = bytes;
        const dealt = parts.deal(text);
        if (dealt === undefined) return;
        hold();
        return void dealt.then(work);
      }
      waiting.push({ text, bytes });
      if (isBusy) return;
      hold();
      later(0);
    },
    charge: (calls) => budget.charge(calls - 1),
    isHeld: () => isBusy,
    forgive: () => budget.giveBack(dealing),
    close: () => {
      isClosed = true;
      waiting = [];
    },
  };
}
