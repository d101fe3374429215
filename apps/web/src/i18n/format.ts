import { knownLanguage, type Language } from '@station/protocol/languages';
import { dateFormat, numberFormat, relativeFormat } from './formats.ts';

const minute = 60_000;
const hour = 60 * minute;

/**
 * How long ago, coarse enough not to tick: "5 minutes ago", "yesterday", "12 Nov". Null within the last minute: the caller has
 * a text for that ("a moment ago"). A time ahead of `now` counts as now, since clocks differ.
 */
export function formatRelative(locale: string, then: number, now: number): string | null {
  const age = Math.max(0, now - then);
  if (age < minute) return null;
  const relative = relativeFormat(locale);
  if (age < hour) return relative.format(-Math.floor(age / minute), 'minute');
  const days = calendarDaysBetween(then, now);
  if (days === 0 || age < 6 * hour) return relative.format(-Math.floor(age / hour), 'hour');
  if (days < 7) return relative.format(-days, 'day');
  const sameYear = new Date(then).getFullYear() === new Date(now).getFullYear();
  return dateFormat(locale, {
    day: 'numeric',
    month: 'short',
    ...(sameYear ? {} : { year: 'numeric' }),
  }).format(then);
}

/** The exact moment, for the tooltip: "Nov 20, 2026, 2:32:05 PM". */
export const formatExact = (locale: string, then: number): string =>
  dateFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }).format(then);

/** The time of day, to the second: "14:32:05". */
export const formatClock = (locale: string, then: number): string =>
  dateFormat(locale, { timeStyle: 'medium' }).format(then);

/** The time of day, with its date when that is not today. */
export const formatMoment = (locale: string, then: number, now: number): string =>
  (calendarDaysBetween(then, now) === 0 ? formatClock : formatExact)(locale, then);

function calendarDaysBetween(then: number, now: number): number {
  const midnight = (at: number): number => new Date(at).setHours(0, 0, 0, 0);
  return Math.round((midnight(now) - midnight(then)) / (24 * hour));
}

/** Numbers as people read them, in the reader's language. Pure; `locale` is a BCP 47 tag. */

/** Symbols of units: `Intl` has "1.3 sec" and "1.3s" for English, but not "1.3 s". */
type Symbols = { second: string; minute: string; hour: string; bytes: readonly string[] };
const latin: Symbols = { second: 's', minute: 'min', hour: 'h', bytes: ['B', 'kB', 'MB', 'GB', 'TB'] };
const symbols: Record<Language, Symbols> = {
  de: latin,
  en: latin,
  pl: latin,
  uk: { second: 'с', minute: 'хв', hour: 'год', bytes: ['Б', 'кБ', 'МБ', 'ГБ', 'ТБ'] },
};

const symbolsOf = (locale: string): Symbols => symbols[knownLanguage(locale.toLowerCase().split('-')[0] ?? '')];

/** A no-break space keeps number and unit on one line. */
const withUnit = (locale: string, value: number, unit: string, digits = 0, atLeast = 0): string =>
  `${numberFormat(locale, { maximumFractionDigits: digits, minimumFractionDigits: atLeast }).format(value)}\u00a0${unit}`;

/** 1300 → "1.3 s", 24100 → "24 s", 185000 → "3 min 5 s", 7500000 → "2 h 5 min". */
export function formatDuration(locale: string, ms: number): string {
  const { second, minute, hour } = symbolsOf(locale);
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 9.95) return withUnit(locale, seconds, second, 1);
  const whole = Math.round(seconds);
  if (whole < 60) return withUnit(locale, whole, second);
  const two = (large: string, small: number, smallUnit: string): string =>
    small === 0 ? large : `${large} ${withUnit(locale, small, smallUnit)}`;
  if (whole < 3600) return two(withUnit(locale, Math.floor(whole / 60), minute), whole % 60, second);
  const minutes = Math.round(seconds / 60);
  return two(withUnit(locale, Math.floor(minutes / 60), hour), minutes % 60, minute);
}

/** A running clock: 42000 → "0:42", 3723000 → "1:02:03". */
export function formatElapsed(ms: number): string {
  const whole = Math.floor(Math.max(0, ms) / 1000);
  const pad = (value: number): string => String(value).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const seconds = whole % 60;
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(seconds)}` : `${minutes}:${pad(seconds)}`;
}

const powerOf = (bytes: number): number => (bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3)));
const digitsFor = (value: number, power: number): number => (power < 2 || value >= 100 ? 0 : 1);

/** Decimal units, three sensible digits: 48100000 → "48.1 MB", 812 → "812 B". */
export function formatBytes(locale: string, bytes: number): string {
  const power = powerOf(bytes);
  const value = bytes / 1000 ** power;
  return withUnit(locale, value, symbolsOf(locale).bytes[power] ?? '', digitsFor(value, power));
}

/** Both in the unit of the total, so that the pair does not change its unit while it grows: "2.4" of "48.1 MB". */
export function formatBytesPair(locale: string, done: number, total: number): { done: string; total: string } {
  const power = powerOf(total);
  const scale = 1000 ** power;
  const digits = digitsFor(total / scale, power);
  const number = numberFormat(locale, { maximumFractionDigits: digits, minimumFractionDigits: digits });
  const unit = symbolsOf(locale).bytes[power] ?? '';
  return { done: number.format(done / scale), total: withUnit(locale, total / scale, unit, digits, digits) };
}

/** 26.9 → "26%". Rounded down: 99.9 is not done yet. */
export const formatPercent = (locale: string, percent: number): string =>
  numberFormat(locale, { style: 'percent' }).format(Math.floor(Math.min(100, Math.max(0, percent))) / 100);
