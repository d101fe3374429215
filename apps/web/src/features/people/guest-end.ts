/** When the access of a guest ends; a date as `<input type="datetime-local">` has it, in the time zone of the station. */
export type GuestEnd = { kind: 'tonight' | 'day' | 'week' } | { kind: 'date'; local: string };

const dayMs = 24 * 60 * 60 * 1000;

/** Milliseconds since the epoch; null: the date is not one. */
export function endTime(end: GuestEnd, now: number, timeZone: string): number | null {
  switch (end.kind) {
    case 'tonight':
      return midnightAfter(now, timeZone);
    case 'day':
      return now + dayMs;
    case 'week':
      return now + 7 * dayMs;
    case 'date':
      return timeAt(end.local, timeZone);
  }
}

/** The date and time there, "2026-11-24T18:30". */
export function localOf(at: number, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  }).formatToParts(at);
  const part = (type: string): string => parts.find((one) => one.type === type)?.value ?? '';
  return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}`;
}

function midnightAfter(now: number, timeZone: string): number | null {
  // Noon of the next day in UTC has its date, whatever the zone is.
  const today = Date.parse(`${localOf(now, timeZone).slice(0, 10)}T12:00Z`);
  return timeAt(`${new Date(today + dayMs).toISOString().slice(0, 10)}T00:00`, timeZone);
}

/** The time at which clocks there show this; the later one where they are set back, the next one where they skip it. */
function timeAt(local: string, timeZone: string): number | null {
  const wanted = Date.parse(`${local}Z`);
  if (Number.isNaN(wanted)) return null;
  const offsetAt = (at: number): number => Date.parse(`${localOf(at, timeZone)}Z`) - at;
  // From a day before and a day after, so that a change of the clocks is seen from both sides.
  const offsets = [offsetAt(wanted - dayMs), offsetAt(wanted + dayMs)];
  const found = offsets.map((offset) => wanted - offset).filter((at) => localOf(at, timeZone) === local);
  return found.length > 0 ? Math.max(...found) : wanted - Math.min(...offsets);
}
