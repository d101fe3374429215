/** One direction of a connection, on which a frame may be held up, and all that follow with it. */
export type Line = { pass(delayMs: number, deal: () => void): void };

/** Frames are dealt with in the order they came, however late the timers of a busy machine are. */
export function createLine(): Line {
  const waiting: { at: number; deal: () => void }[] = [];
  const wait = ({ at }: { at: number }): void => {
    setTimeout(run, Math.max(1, Math.ceil(at - performance.now()))).unref();
  };
  const run = (): void => {
    const now = performance.now();
    while (waiting[0] !== undefined && waiting[0].at <= now) {
      waiting[0].deal();
      waiting.shift();
    }
    if (waiting[0] !== undefined) wait(waiting[0]);
  };
  return {
    pass: (delayMs, deal) => {
      const last = waiting.at(-1);
      if (last === undefined && delayMs === 0) return deal();
      const frame = { at: Math.max(last?.at ?? 0, performance.now() + delayMs), deal };
      waiting.push(frame);
      if (last === undefined) wait(frame);
    },
  };
}
