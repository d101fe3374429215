export type InboundQueue = {
  /** @param text null for a binary frame. */
  push(text: string | null, bytes: number): void;
  /** The current frame holds this many calls or people. */
  charge(calls: number): void;
  /** Whether the next frame must wait. */
  isHeld(): boolean;
  /** The station requested the current frame, so it costs nothing. */
  forgive(): void;
  close(): void;
};

/** Longest work in one turn; local requests are served between turns. */
const sliceMs = 2;

/**
 * Handles the cloud's frames in order, in small steps and no faster than the budget allows. Reading pauses while frames wait, so TCP slows
 * down a cloud that floods the station, and local users do not notice. No frame is dropped.
 */
export function createInboundQueue(parts: {
  limits: BudgetLimits;
  /** Stops and goes on reading. */
  pause(): void;
  resume(): void;
  /** The next frame waits for the returned promise, which must not reject. */
  deal(text: string | null): Promise<void> | undefined;
  /** Monotonic milliseconds. */
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

/** Budget of the cloud: a rate per second and a burst. Each call of a batch counts as a frame. */
export type BudgetLimits = { framesPerSecond: number; frames: number; bytesPerSecond: number; bytes: number };

/** Above the use of a busy house with some hundred devices; this rate costs one or two percent of a small computer. */
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
  /** Takes a frame from the budget if there is room. @returns milliseconds to wait; 0: taken. */
  take(bytes: number, nowMs: number): number;
  /** The frame held this many additional calls: they are charged afterwards. */
  charge(calls: number): void;
  /** The station requested the frame: its cost is refunded. */
  giveBack(bytes: number): void;
};

/** Two token buckets, frames and bytes, that refill over time. A large frame passes and is charged afterwards. */
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
