import type { TFunction } from 'i18next';
import type { Problem } from '../api/request.ts';
import { formatDuration } from './format.ts';

/** The text of a key that a newer station may have added; `fallback` when this page has none for it. */
export const orElse = (
  t: TFunction,
  key: string,
  fallback: string,
  values: Readonly<Record<string, string>> = {},
): string =>
  (t as (key: string, options: { defaultValue: string; replace: typeof values }) => string)(key, {
    defaultValue: fallback,
    replace: values,
  });

export function problemWords(t: TFunction, locale: string, problem: Problem): string {
  if (problem.code === 'too_many_requests' && problem.retryAfterSeconds !== null) {
    return t('error.tooManyWait', { duration: formatDuration(locale, problem.retryAfterSeconds * 1000) });
  }
  if (problem.code === 'backup_refused' && problem.reason !== null) {
    return orElse(t, `backup.refusal.${problem.reason}`, problem.message);
  }
  return orElse(t, `error.${problem.code}`, problem.message || t('error.internal'));
}

/** Between two facts on a small line; the dot never begins a line. */
export const dot = '\u00a0· ';
