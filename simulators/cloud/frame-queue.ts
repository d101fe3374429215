/** One direction of a connection. A delayed frame also delays all frames after it. */
export type FrameQueue = { pass(delayMs: number, deliver: () => void): void };

/** Delivers frames in the order of their arrival, even when the timers of a busy machine are late. */
export function createFrameQueue(): FrameQueue {
  const waiting: { at: number; deliver: () => void }[] = [];
  const schedule = ({ at }: { at: number }): void => {
    setTimeout(run, Math.max(1, Math.ceil(at - performance.now()))).unref();
  };
  const run = (): void => {
    const now = performance.now();
    while (waiting[0] !== undefined && waiting[0].at <= now) {
      waiting[0].deliver();
      waiting.shift();
    }
    if (waiting[0] !== undefined) schedule(waiting[0]);
  };
  return {
    pass: (delayMs, deliver) => {
      const last = waiting.at(-1);
      if (last === undefined && delayMs === 0) return deliver();
      const frame = { at: Math.max(last?.at ?? 0, performance.now() + delayMs), deliver };
      waiting.push(frame);
      if (last === undefined) schedule(frame);
    },
  };
}
