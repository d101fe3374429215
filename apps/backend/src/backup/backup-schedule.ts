import { nextTimeOfDay } from '../core/time-of-day.ts';
import type { NightState } from './backup-settings.ts';

const retryMs = 3600_000;

/** When the nightly backup is next due after a time, both in epoch milliseconds. An unknown time zone counts as UTC. */
export function nextNight(at: string, timeZone: string, after: number): number {
  const [hour, minute] = at.split(':').map(Number);
  return nextTimeOfDay(`${minute} ${hour} * * *`, after, timeZone) ?? Infinity;
}

/**
 * Whether the nightly backup is due: at its time, after a missed night as soon as the station runs, and each hour after a failure.
 * @returns also the state as it is from now on: times from the future, of a clock that was set back, count as now.
 */
export function nightDue(
  state: NightState,
  { at, timeZone, now }: { at: string; timeZone: string; now: number },
): { isDue: boolean; state: NightState } {
  const doneAt = Math.min(state.doneAt, now);
  const triedAt = Math.min(state.triedAt, now);
  const isDue = nextNight(at, timeZone, doneAt) <= now && (triedAt <= doneAt || now - triedAt >= retryMs);
  return { isDue, state: { ...state, doneAt, triedAt } };
}
