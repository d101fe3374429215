import { Cron } from 'croner';
import { isoTime } from '@station/kit/clock';
import { type TriggerData, weekdays } from '@station/protocol/automation-flow';
import type { Place } from '@station/protocol/rest';
import { nextInterval, nextTimeOfDay } from '../core/time-of-day.ts';
import type { ArmedTrigger } from './registry.ts';
import type { Start } from './run-rows.ts';
import { nextSun } from './sun.ts';

type Schedule = Extract<TriggerData, { kind: 'schedule' }>['config'];

/** Where and when the station is. `timeZone`: IANA name; an unknown one counts as UTC. `place`: null, it is not set. */
export type Whereabouts = { timeZone: string; place: Place | null };

/**
 * When a schedule is next due, strictly after `afterMs`; null when never. It uses local time: a time skipped by the change to summer time
 * is due at the change (never on the next date), a repeated time in autumn is due the first time. Intervals in minutes do not change.
 */
export function nextDue(schedule: Schedule, afterMs: number, { timeZone, place }: Whereabouts): number | null {
  const { sun, days } = schedule;
  if (sun !== undefined) return place === null ? null : nextSun(sun, days, afterMs, { timeZone, place });
  const expression = expressionOf(schedule);
  const next = isTimeOfDay(expression) ? nextTimeOfDay : nextInterval;
  return next(expression, afterMs, timeZone);
}

/** The hour is given: it follows the clock on the wall. Others are intervals. */
const isTimeOfDay = (expression: string): boolean => expression.trim().split(/\s+/)[1]?.includes('*') === false;

/** The fault of a cron expression, in English; null when it is valid. */
export function cronProblem(expression: string): string | null {
  try {
    const cron = new Cron(expression, { mode: '5-part', timezone: 'UTC', paused: true });
    return cron.nextRun(new Date(0)) === null ? 'This never happens.' : null;
  } catch {
    return 'This is not a cron expression of five fields: minute, hour, day, month, day of the week.';
  }
}

function expressionOf({ cron, time = '00:00', days }: Schedule): string {
  if (cron !== undefined) return cron;
  const [hour, minute] = time.split(':').map(Number);
  // Cron counts the days of the week from Sunday.
  const numbers = days?.map((day) => (weekdays.indexOf(day) + 1) % 7).join(',') ?? '*';
  return `${minute} ${hour} * * ${numbers}`;
}

/** A schedule that is later than this is skipped: people no longer expect it. */
const graceMs = 60_000;

type DueSchedule = { start: Start; isMissed: boolean };

export type SchedulePlan = {
  /** Schedules that are due now. */
  take(schedules: readonly ArmedTrigger[], nowMs: number, where: Whereabouts): DueSchedule[];
  /** When the next one is due, according to the last `take`. */
  next(): number | null;
  /** This process no longer handles schedules. */
  clear(): void;
};

type Entry = { trigger: ArmedTrigger; dueMs: number | null };

/**
 * Plans when each schedule is due next. After a start, or as new leader, it checks one minute back. A run that the previous leader started
 * has the same cause and does not start again.
 */
export function createSchedulePlan(): SchedulePlan {
  let entries = new Map<string, Entry>();
  let lastMs = 0;
  return {
    take: (schedules, nowMs, where) => {
      // The clock was set back: the planned times are too far in the future.
      if (nowMs < lastMs) entries.clear();
      lastMs = nowMs;
      const known = entries;
      entries = new Map();
      const due: DueSchedule[] = [];
      for (const trigger of schedules) {
        const { data, automation, nodeId } = trigger;
        if (data.kind !== 'schedule') continue;
        const key = JSON.stringify([automation.id, nodeId, automation.publishedAt, data.config, where]);
        // Published while the clock was ahead: it must not wait for that time.
        const since = Math.max(nowMs - graceMs, Math.min(automation.publishedAt, nowMs));
        const planned = known.get(key) ?? { trigger, dueMs: nextDue(data.config, since, where) };
        if (planned.dueMs === null || planned.dueMs > nowMs) {
          entries.set(key, { ...planned, trigger });
          continue;
        }
        due.push({ start: startOf(trigger, planned.dueMs), isMissed: nowMs - planned.dueMs > graceMs });
        entries.set(key, { trigger, dueMs: nextDue(data.config, nowMs, where) });
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
