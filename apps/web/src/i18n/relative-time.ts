const minute = 60_000;
const hour = 60 * minute;

/**
 * How long ago, coarse enough not to tick: "5 minutes ago", "yesterday", "12 Nov". Null within the last minute: the caller has
 * a word for that ("a moment ago"). A time ahead of `now` counts as now, since clocks differ.
 */
export function formatRelative(locale: string, then: number, now: number): string | null {
  const age = Math.max(0, now - then);
  if (age < minute) return null;
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  if (age < hour) return relative.format(-Math.floor(age / minute), 'minute');
  const days = calendarDaysBetween(then, now);
  if (days === 0 || age < 6 * hour) return relative.format(-Math.floor(age / hour), 'hour');
  if (days < 7) return relative.format(-days, 'day');
  const sameYear = new Date(then).getFullYear() === new Date(now).getFullYear();
  return new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'short',
    ...(sameYear ? {} : { year: 'numeric' }),
  }).format(then);
}

/** The exact moment, for the tooltip: "Nov 20, 2026, 2:32:05 PM". */
export const formatExact = (locale: string, then: number): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }).format(then);

/** The time of day, to the second: "14:32:05". */
export const formatClock = (locale: string, then: number): string =>
  new Intl.DateTimeFormat(locale, { timeStyle: 'medium' }).format(then);

function calendarDaysBetween(then: number, now: number): number {
  const midnight = (at: number): number => new Date(at).setHours(0, 0, 0, 0);
  return Math.round((midnight(now) - midnight(then)) / (24 * hour));
}
