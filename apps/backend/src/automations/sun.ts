import { getTimes } from 'suncalc';
import type { SunTime, Weekday } from '@station/protocol/automation-flow';
import type { Place } from '@station/protocol/rest';
import { localTime } from '../core/local-time.ts';

/** The sun on one local day, in minutes by the local clock since the midnight that began it. Sunset may be after the next midnight. */
export type SunDay = {
  sunrise: number;
  sunset: number;
  /** The sun does not rise or set: the day is empty at noon, or lasts from midnight to midnight by the sun. */
  isPolar: boolean;
};

/** Yesterday's evening and tomorrow's morning belong to ranges over midnight. */
export type SunDays = { yesterday: SunDay; today: SunDay; tomorrow: SunDay };

const minuteMs = 60_000;
const dayMinutes = 24 * 60;
const dayMs = dayMinutes * minuteMs;

/** Pure but for the library. */
export function sunDays(nowMs: number, timeZone: string, place: Place): SunDays {
  const day = (offset: number): SunDay => sunDay(noonOf(nowMs, timeZone) + offset * dayMs, timeZone, place);
  return { yesterday: day(-1), today: day(0), tomorrow: day(1) };
}

/** About noon of the local day; up to an hour off where the clock changes, which is enough to name the day. */
const noonOf = (epochMs: number, timeZone: string): number =>
  epochMs + (dayMinutes / 2 - localTime(epochMs, timeZone).minutes) * minuteMs;

function sunDay(noonMs: number, timeZone: string, { latitude, longitude }: Place): SunDay {
  const { sunrise, sunset, solarNoon, alwaysUp } = getTimes(new Date(noonMs), latitude, longitude);
  const minutes = (epochMs: number): number => minutesIn(epochMs, noonMs, timeZone);
  if (sunrise !== null && sunset !== null) {
    return { sunrise: minutes(sunrise.getTime()), sunset: minutes(sunset.getTime()), isPolar: false };
  }
  const noon = minutes(solarNoon.getTime());
  const half = alwaysUp === true ? dayMinutes / 2 : 0;
  return { sunrise: noon - half, sunset: noon + half, isPolar: true };
}

/** Minutes by the local clock since midnight of the day of `noonMs`. */
function minutesIn(epochMs: number, noonMs: number, timeZone: string): number {
  const { minutes, weekday } = localTime(epochMs, timeZone);
  if (weekday === localTime(noonMs, timeZone).weekday) return minutes;
  return epochMs < noonMs ? minutes - dayMinutes : minutes + dayMinutes;
}

/** A year and a day: every sunset that there is at a place comes within. */
const longestSearch = 367;

/** When the sun next does this, strictly after `afterMs`; null when it never does. Days are those of the noon between sunrise and sunset. */
export function nextSun(
  { event, offsetMinutes = 0 }: SunTime,
  days: readonly Weekday[] | undefined,
  afterMs: number,
  { timeZone, place }: { timeZone: string; place: Place },
): number | null {
  // An offset reaches into the neighbouring day, and sunset may be after midnight.
  const noonMs = noonOf(afterMs, timeZone) - dayMs;
  for (let day = 0; day < longestSearch; day++) {
    const at = noonMs + day * dayMs;
    if (days !== undefined && !days.includes(localTime(at, timeZone).weekday)) continue;
    const time = getTimes(new Date(at), place.latitude, place.longitude)[event];
    // To the second: the same event has the same name in every process.
    const dueMs = time === null ? null : Math.round(time.getTime() / 1_000) * 1_000 + offsetMinutes * minuteMs;
    if (dueMs !== null && dueMs > afterMs) return dueMs;
  }
  return null;
}
