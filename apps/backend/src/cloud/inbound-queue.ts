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

/** What the cloud may have dealt with in a second, and how much more in one go. Each call of a batch is as a frame. */
export type BudgetLimits = { framesPerSecond: number; frames: number; bytesPerSecond: number; bytes: number };

/** A house of some hundred devices with everyone tapping is below it; dealing with that much costs a percent or two of a small computer. */
export const usualLimits: BudgetLimits = {
  framesPerSecond: 100,
  frames: 200,
  bytesPerSecond: 256 * 1024,
  bytes: 2 * 1024 * 1024,
};
export const noLimits: BudgetLimits = {
  framesPerSecond: Infinity,
  frames: Infinity,
  bytesPerSecond: Infinity,
  bytes: Infinity,
};

type InboundBudget = {
  /** Takes a frame off the budget if there is room for it. @returns milliseconds to wait for that; 0: taken. */
  take(bytes: number, nowMs: number): number;
  /** What was taken held so many calls more than the one it was taken for: paid for afterwards. */
  charge(calls: number): void;
  /** It was something that the station had asked for. */
  giveBack(bytes: number): void;
};

/** Two buckets, frames and bytes, that fill up as time goes by. A large frame is let through and paid for afterwards. */
export function createInboundBudget(limits: BudgetLimits): InboundBudget {
  let frames = limits.frames;
  let bytes = limits.bytes;
  let atMs: number | null = null;
  return {
    take: (size, nowMs) => {
      const seconds = Math.max(0, nowMs - (atMs ?? nowMs)) / 1000;
      atMs = nowMs;
      if (seconds > 0) {
        frames = Math.min(limits.frames, frames + seconds * limits.framesPerSecond);
        bytes = Math.min(limits.bytes, bytes + seconds * limits.bytesPerSecond);
      }
      const wait = Math.max((1 - frames) / limits.framesPerSecond, (1 - bytes) / limits.bytesPerSecond);
      if (wait > 0) return Math.ceil(wait * 1000);
      frames -= 1;
      bytes -= size;
      return 0;
    },
    charge: (calls) => void (frames -= calls),
    giveBack: (size) => {
      frames += 1;
      bytes += size;
    },
  };
}
