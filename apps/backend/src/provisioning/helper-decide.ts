import { writeResultWithinMs } from '@station/protocol/ble-frames';

/** What the supervision of the helper knows. Times are monotonic, milliseconds. */
export type HelperFacts = {
  nowMs: number;
  /** When nobody needed it any more; null: it is needed. */
  idleSinceMs: number | null;
  /** Null: it does not run. `endingSinceMs`: it was told to end. */
  process: { startedAtMs: number; isReady: boolean; isEnding: boolean } | null;
  /** The earliest time of the next start. */
  mayStartAtMs: number;
  /** The first write: null when there is none. `startedAtMs`: null while it waits for the helper. */
  write: { queuedAtMs: number; startedAtMs: number | null } | null;
};

export type HelperStep =
  | { kind: 'start' }
  /** Nobody has needed it for a while. */
  | { kind: 'end' }
  | { kind: 'kill'; reason: 'not ready in time' | 'no write_result in time' }
  /** The helper could not be started in time. */
  | { kind: 'fail_write' }
  /** Until this time, or until a fact changes. */
  | { kind: 'wait'; untilMs: number };

const readyWithinMs = 10_000;
/** The memory of an idle station is worth more than a second at the next start. */
const idleForMs = 30_000;
/** How long a write waits for a helper that does not start. */
const writeWaitsMs = 45_000;

/** What to do about the helper now. */
export function decideHelper({ nowMs, idleSinceMs, process, mayStartAtMs, write }: HelperFacts): HelperStep {
  const failWriteAtMs = write !== null && write.startedAtMs === null ? write.queuedAtMs + writeWaitsMs : Infinity;
  if (nowMs >= failWriteAtMs) return { kind: 'fail_write' };
  if (process === null) {
    const startAtMs = idleSinceMs === null ? mayStartAtMs : Infinity;
    return nowMs >= startAtMs ? { kind: 'start' } : { kind: 'wait', untilMs: Math.min(startAtMs, failWriteAtMs) };
  }
  if (process.isEnding) return { kind: 'wait', untilMs: failWriteAtMs };
  const readyUntilMs = process.isReady ? Infinity : process.startedAtMs + readyWithinMs;
  if (nowMs >= readyUntilMs) return { kind: 'kill', reason: 'not ready in time' };
  const resultUntilMs = (write?.startedAtMs ?? Infinity) + writeResultWithinMs;
  if (nowMs >= resultUntilMs) return { kind: 'kill', reason: 'no write_result in time' };
  const endAtMs = idleSinceMs === null ? Infinity : idleSinceMs + idleForMs;
  if (nowMs >= endAtMs) return { kind: 'end' };
  return { kind: 'wait', untilMs: Math.min(failWriteAtMs, readyUntilMs, resultUntilMs, endAtMs) };
}
