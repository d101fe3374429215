import type { Boot } from '../src/system/adapters/boot.ts';
import { steppedClock, type SteppedClock } from './stepped-clock.ts';

/** A machine whose wall clock the test sets; its monotonic clock only goes forward. */
export type JumpingClock = SteppedClock & {
  /** The wall clock jumps. */
  set(wallMs: number): void;
  /** Both clocks go on, and nothing runs meanwhile: cheaper than `advance` for hours and days. */
  pass(ms: number): void;
  boot: Boot;
};

/** @param uptimeMs since the machine started. */
export function jumpingClock(wallMs: number, bootId = 'first boot', uptimeMs = 0): JumpingClock {
  const steady = steppedClock(0);
  let offsetMs = wallMs;
  let passedMs = 0;
  const monotonic = (): number => steady.monotonic() + passedMs;
  return {
    ...steady,
    monotonic,
    now: () => monotonic() + offsetMs,
    set: (to) => {
      offsetMs = to - monotonic();
    },
    pass: (ms) => {
      passedMs += ms;
    },
    boot: { id: bootId, uptimeMs: () => uptimeMs + monotonic() },
  };
}
