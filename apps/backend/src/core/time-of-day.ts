import { Cron } from 'croner';

/**
 * When a cron expression with a fixed hour is next due, strictly after `afterMs`; null when never. It follows the clock on the wall:
 * a time that is skipped is due at the change, but never on another date; one that comes twice the first time.
 * @param timeZone IANA name; an unknown one counts as UTC.
 */
export function nextTimeOfDay(expression: string, afterMs: number, timeZone: string): number | null {
  const zone = knownZone(timeZone);
  // The library knows the calendar, and of changes of the clock nothing: it counts in local time as if it were UTC.
  let local = asUtc(Temporal.Instant.fromEpochMilliseconds(afterMs).toZonedDateTimeISO(zone).toPlainDateTime());
  for (;;) {
    const next = nextRun(expression, local, 'UTC');
    if (next === null) return null;
    const dueMs = firstInstantOf(next, zone);
    if (dueMs > afterMs) return dueMs;
    local = next;
  }
}

/** The same of an expression with any hour: an interval, which changes of the clock do not change. */
export const nextInterval = (expression: string, afterMs: number, timeZone: string): number | null =>
  nextRun(expression, afterMs, knownZone(timeZone));

const asUtc = (local: Temporal.PlainDateTime): number => local.toZonedDateTime('UTC').epochMilliseconds;

/**
 * When the clock first shows this local time or a later one: of a repeated time the first, of a skipped one the change. Where the change leads
 * to the next date, the last second before it: what is meant for a Saturday does not run on Sunday.
 */
function firstInstantOf(localMs: number, timeZone: string): number {
  const local = Temporal.Instant.fromEpochMilliseconds(localMs).toZonedDateTimeISO('UTC').toPlainDateTime();
  const earlier = local.toZonedDateTime(timeZone, { disambiguation: 'earlier' });
  if (earlier.toPlainDateTime().equals(local)) return earlier.epochMilliseconds;
  const change = earlier.getTimeZoneTransition('next') ?? earlier;
  const isOnDate = (moment: Temporal.ZonedDateTime): boolean => moment.toPlainDate().equals(local.toPlainDate());
  const lastSecond = change.subtract({ seconds: 1 });
  return (!isOnDate(change) && isOnDate(lastSecond) ? lastSecond : change).epochMilliseconds;
}

function knownZone(name: string): string {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    return name;
  } catch {
    return 'UTC';
  }
}

/** Null when it is never due, or is no cron expression. */
function nextRun(expression: string, afterMs: number, timezone: string): number | null {
  try {
    const cron = new Cron(expression, { mode: '5-part', fixedTimeRule: 'no-wildcard', timezone, paused: true });
    return cron.nextRun(new Date(afterMs))?.getTime() ?? null;
  } catch {
    return null;
  }
}
