import { Cron } from 'croner';
import { weekdays, type TriggerData } from '@station/protocol/automation-flow';

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
