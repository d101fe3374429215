import { isoTime } from '@station/kit/clock';
import type { ArmedTrigger } from './registry.ts';
import type { Start } from './run-rows.ts';
import { nextDue } from './schedule.ts';

/** What is due longer ago is not done: people would not expect it any more. */
const graceMs = 60_000;

type DueSchedule = { start: Start; isMissed: boolean };

export type SchedulePlan = {
  /** What is due by now. */
  take(schedules: readonly ArmedTrigger[], nowMs: number, timeZone: string): DueSchedule[];
  /** When the next one is due, as far as was seen by `take`. */
  next(): number | null;
  /** This process is no longer the one that minds schedules. */
  clear(): void;
};

type Entry = { trigger: ArmedTrigger; dueMs: number | null };

/**
 * When each schedule is due next. A start of the station, or a new leader, looks a minute back: what the one before had begun already has
 * the same cause, and is not begun again.
 */
export function createSchedulePlan(): SchedulePlan {
  let entries = new Map<string, Entry>();
  let lastMs = 0;
  return {
    take: (schedules, nowMs, timeZone) => {
      // Set back: what was planned is too far off now.
      if (nowMs < lastMs) entries.clear();
      lastMs = nowMs;
      const known = entries;
      entries = new Map();
      const due: DueSchedule[] = [];
      for (const trigger of schedules) {
        const { data, automation, nodeId } = trigger;
        if (data.kind !== 'schedule') continue;
        const key = JSON.stringify([automation.id, nodeId, automation.publishedAt, data.config, timeZone]);
        const since = Math.max(nowMs - graceMs, automation.publishedAt);
        const planned = known.get(key) ?? { trigger, dueMs: nextDue(data.config, since, timeZone) };
        if (planned.dueMs === null || planned.dueMs > nowMs) {
          entries.set(key, { ...planned, trigger });
          continue;
        }
        due.push({ start: startOf(trigger, planned.dueMs), isMissed: nowMs - planned.dueMs > graceMs });
        entries.set(key, { trigger, dueMs: nextDue(data.config, nowMs, timeZone) });
      }
      return due;
    },
    next: () => {
      const times = [...entries.values()].flatMap(({ dueMs }) => dueMs ?? []);
      return times.length === 0 ? null : Math.min(...times);
    },
    clear: () => entries.clear(),
  };
}

function startOf({ automation, nodeId }: ArmedTrigger, dueMs: number): Start {
  const dueAt = isoTime(dueMs);
  const trigger = { kind: 'schedule', nodeId, deviceId: null, userId: null, data: { dueAt } } as const;
  return { automation, trigger, cause: `schedule ${nodeId} ${dueAt}` };
}
