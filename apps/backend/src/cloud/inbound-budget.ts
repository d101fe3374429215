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

export type InboundBudget = {
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
