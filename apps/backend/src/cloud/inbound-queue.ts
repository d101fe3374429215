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

type QueueParts = {
  limits: BudgetLimits;
  /** Stops and goes on reading. */
  pause(): void;
  resume(): void;
  /** The next frame waits for the returned promise, which must not reject. */
  deal(text: string | null): Promise<void> | undefined;
  /** Monotonic milliseconds. */
  monotonic?: () => number;
};

type QueueState = {
  parts: QueueParts;
  monotonic: () => number;
  budget: InboundBudget;
  waiting: { text: string | null; bytes: number }[];
  /** Index of the next frame in `waiting`. */
  next: number;
  isBusy: boolean;
  isClosed: boolean;
  /** Bytes of the current frame. */
  dealing: number;
};

/**
 * Handles the cloud's frames in order, in small steps and no faster than the budget allows. Reading pauses while frames wait, so TCP slows
 * down a cloud that floods the station, and local users do not notice. No frame is dropped.
 */
export function createInboundQueue(parts: QueueParts): InboundQueue {
  const { limits, monotonic = () => performance.now() } = parts;
  const budget = createInboundBudget(limits);
  const state: QueueState = {
    parts,
    monotonic,
    budget,
    waiting: [],
    next: 0,
    isBusy: false,
    isClosed: false,
    dealing: 0,
  };
  return {
    push: (text, bytes) => push(state, text, bytes),
    charge: (calls) => budget.charge(calls - 1),
    isHeld: () => state.isBusy,
    forgive: () => budget.giveBack(state.dealing),
    close: () => {
      state.isClosed = true;
      state.waiting = [];
    },
  };
}

function push(state: QueueState, text: string | null, bytes: number): void {
  if (state.isClosed) return;
  if (!state.isBusy && state.budget.take(bytes, state.monotonic()) === 0) {
    state.dealing = bytes;
    const dealt = state.parts.deal(text);
    if (dealt === undefined) return;
    pauseReading(state);
    void dealt.then(() => work(state));
    return;
  }
  state.waiting.push({ text, bytes });
  if (state.isBusy) return;
  pauseReading(state);
  workLater(state, 0);
}

function work(state: QueueState): void {
  const { parts, monotonic, budget } = state;
  const endMs = monotonic() + sliceMs;
  while (state.next < state.waiting.length && !state.isClosed) {
    const nowMs = monotonic();
    if (nowMs > endMs) return workLater(state, 0);
    const frame = state.waiting[state.next]!;
    const waitMs = budget.take(frame.bytes, nowMs);
    if (waitMs > 0) return workLater(state, waitMs);
    state.next += 1;
    state.dealing = frame.bytes;
    const dealt = parts.deal(frame.text);
    if (dealt !== undefined) {
      void dealt.then(() => work(state));
      return;
    }
  }
  state.waiting = [];
  state.next = 0;
  state.isBusy = false;
  if (!state.isClosed) parts.resume();
}

function workLater(state: QueueState, ms: number): void {
  if (ms > 0) setTimeout(() => work(state), ms).unref();
  else setImmediate(() => work(state));
}

function pauseReading(state: QueueState): void {
  state.isBusy = true;
  state.parts.pause();
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
