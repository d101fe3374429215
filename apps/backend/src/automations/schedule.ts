import { Cron } from 'croner';
import { isoTime } from '@station/kit/clock';
import { type TriggerData, weekdays } from '@station/protocol/automation-flow';
import type { ArmedTrigger } from './registry.ts';
import type { Start } from './run-rows.ts';

type Schedule = Extract<TriggerData, { kind: 'schedule' }>['config'];

/**
 * When a schedule is next due, strictly after `afterMs`; null when never. By the wall clock of the time zone: a time that a change to summer
 * time leaves out is due in the moment of the change, one that comes twice in autumn is due the first time; what is due every so many
 * minutes stays so through both.
 * @param timeZone IANA name; one that is unknown counts as UTC.
 */
export function nextDue(schedule: Schedule, afterMs: number, timeZone: string): number | null {
  const cron = make(expressionOf(schedule), timeZone) ?? make(expressionOf(schedule), 'UTC');
  return cron?.nextRun(new Date(afterMs))?.getTime() ?? null;
}

/** What is wrong with a cron expression, in English; null when nothing is. */
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

function make(expression: string, timezone: string): Cron | null {
  try {
    const cron = new Cron(expression, { mode: '5-part', fixedTimeRule: 'no-wildcard', timezone, paused: true });
    // An unknown time zone shows itself only now.
    cron.nextRun(new Date(0));
    return cron;
  } catch {
    return null;
  }
}

/** What is due longer ago is not done: people would not expect it any more. */
const graceMs = 60_000;

type DueSchedule = { start: Start; isMissed: boolean };

type SchedulePlan = {
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
