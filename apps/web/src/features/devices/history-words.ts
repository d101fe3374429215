import type { TFunction } from 'i18next';
import type { Capability } from '@station/protocol/device-types';
import type { DeviceHistory } from '@station/protocol/device-history';
import { valueWords } from '../../i18n/device-words.ts';
import { formatDuration } from '../../i18n/format.ts';
import type { Answer } from './history-cursor.ts';
import { changesOf, ranges, sharesOf } from './history-view.ts';

/** Days in words; shorter times as anywhere else. */
export function lengthWords(t: TFunction, locale: string, ms: number): string {
  const days = Math.round(ms / ranges.day);
  return ms < 2 * ranges.day && ms !== ranges.day
    ? formatDuration(locale, ms)
    : t('devicePage.history.days', { count: days });
}

/** A history in one line. */
export function summaryWords(t: TFunction, locale: string, capability: Capability, history: DeviceHistory): string {
  const words = (value: unknown): string => valueWords(t, locale, { capability, value });
  if (history.kind === 'number') {
    const { points } = history;
    return t('devicePage.history.numbers', {
      lowest: words(Math.min(...points.map(({ lowest }) => lowest))),
      highest: words(Math.max(...points.map(({ highest }) => highest))),
      last: words(points.at(-1)?.value),
    });
  }
  const shares = sharesOf(history);
  const shown = shares.find(({ value }) => value === true) ?? shares[0];
  const share = shown?.share ?? 0;
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: share < 0.1 ? 1 : 0 });
  const count = changesOf(history);
  return t('devicePage.history.shares', {
    what: words(shown?.value ?? true),
    share: percent.format(share),
    changes: t('devicePage.history.changes', { count, formatted: new Intl.NumberFormat(locale).format(count) }),
  });
}

/** The time at the cursor. Seconds only where a chart shows less than a day. */
export const cursorTime = (locale: string, atMs: number, lengthMs: number): string =>
  new Intl.DateTimeFormat(locale, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    ...(lengthMs <= ranges.day ? { second: '2-digit' } : {}),
    ...(lengthMs > ranges.month ? { year: 'numeric' } : {}),
  }).format(atMs);

/** What a history says at the cursor: "21.4 °C (21.1 °C to 21.7 °C)", "On, 14:02:05 – 14:10:11", "no data". */
export function answerWords(t: TFunction, locale: string, capability: Capability, answer: Answer | null): string {
  if (answer === null) return t('devicePage.history.nothing');
  const words = (value: unknown): string => valueWords(t, locale, { capability, value });
  if (answer.kind === 'number') {
    const { value, lowest, highest } = answer.point;
    const low = words(lowest);
    const high = words(highest);
    return low === high ? words(value) : t('devicePage.history.between', { value: words(value), low, high });
  }
  const { value, share, fromMs, toMs } = answer;
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 });
  const what = share < 1 ? `${words(value)} ${percent.format(share)}` : words(value);
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
  const isOneDay = new Date(fromMs).toDateString() === new Date(toMs).toDateString();
  const format = new Intl.DateTimeFormat(locale, isOneDay ? time : { ...time, day: 'numeric', month: 'short' });
  return `${what}, ${format.formatRange(fromMs, toMs)}`;
}
