import { type Weekday, weekdays } from '@station/protocol/automation-flow';

/** A local time of day. */
export type LocalTime = { weekday: Weekday; /** Minutes since midnight, by the local clock. */ minutes: number };

/** Milliseconds until the clock there next shows this time; until the end of the gap where it skips it. @param time `HH:MM` */
export function untilTime(time: string, epochMs: number, timeZone: string): number {
  const zone = makeFormat(timeZone) === null ? 'UTC' : timeZone;
  const now = Temporal.Instant.fromEpochMilliseconds(epochMs).toZonedDateTimeISO(zone);
  // Of a time that comes twice today, the one that is left.
  const { hour, minute } = Temporal.PlainTime.from(time);
  const today = now.with({ hour, minute, second: 0, millisecond: 0, microsecond: 0, nanosecond: 0 });
  const next = today.epochMilliseconds > epochMs ? today : now.add({ days: 1 }).withPlainTime(time);
  return next.epochMilliseconds - epochMs;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * @param timeZone IANA name; an unknown one counts as UTC.
 * @param epochMs milliseconds since the epoch.
 */
export function localTime(epochMs: number, timeZone: string): LocalTime {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(epochMs)
      .map(({ type, value }) => [type, value]),
  );
  const name = parts.get('weekday')?.toLowerCase();
  return {
    weekday: weekdays.find((day) => day === name) ?? 'mon',
    minutes: Number(parts.get('hour')) * 60 + Number(parts.get('minute')),
  };
}

/** Formatters are cached: creating one costs far more than using it. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = makeFormat(timeZone) ?? makeFormat('UTC')!;
  if (formats.size > 10) formats.clear();
  formats.set(timeZone, format);
  return format;
}

function makeFormat(timeZone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
  } catch {
    return null;
  }
}
