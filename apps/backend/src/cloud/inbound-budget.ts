/** What the cloud may send in a second before it has to wait, and how much more in one go. */
export type BudgetLimits = { framesPerSecond: number; frames: number; bytesPerSecond: number; bytes: number };

/** A house of some hundred devices with everyone tapping is far below it; parsing that much costs a few percent of a small computer. */
export const usualLimits: BudgetLimits = {
  framesPerSecond: 200,
  frames: 400,
  bytesPerSecond: 256 * 1024,
  bytes: 2 * 1024 * 1024,
};

export type InboundBudget = {
  /** Counts a frame. @returns milliseconds to stop reading for; 0 to go on. */
  take(bytes: number, nowMs: number): number;
};

/**
 * Two leaky buckets, frames and bytes: a cloud that floods the station is read ever more slowly, and held back by TCP itself, so that it takes
 * nothing from those at home. Nothing is thrown away.
 */
export function createInboundBudget(limits: BudgetLimits): InboundBudget {
  let frames = 0;
  let bytes = 0;
  let atMs = 0;
  return {
    take: (size, nowMs) => {
      const seconds = Math.max(0, nowMs - atMs) / 1000;
      atMs = nowMs;
      frames = Math.max(0, frames - seconds * limits.framesPerSecond) + 1;
      bytes = Math.max(0, bytes - seconds * limits.bytesPerSecond) + size;
      const wait = Math.max(
        (frames - limits.frames) / limits.framesPerSecond,
        (bytes - limits.bytes) / limits.bytesPerSecond,
      );
      return wait > 0 ? Math.ceil(wait * 1000) : 0;
    },
  };
}
