import { type Weekday, weekdays } from '@station/protocol/automation-flow';

/** A local time of day. */
export type LocalTime = { weekday: Weekday; /** Minutes since midnight, by the local clock. */ minutes: number };

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
