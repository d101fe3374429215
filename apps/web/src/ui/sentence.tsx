import { type ReactNode, useSyncExternalStore } from 'react';

import { useTranslation } from 'react-i18next';
import { everySecond } from '../api/second-clock.ts';
import { useServices } from '../api/services.ts';
import { formatExact, formatRelative } from '../i18n/format.ts';
import { useLocale } from '../i18n/i18n.ts';

/** "5 minutes ago", with the exact time on hover. */
export function TimeAgo({ at }: { at: string }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { clock } = useServices();
  const then = Date.parse(at);
  // Only this text follows the clock, and is drawn again when it is another one.
  const words = useSyncExternalStore(everySecond, () => formatRelative(locale, then, clock.now()) ?? t('time.moment'));
  return (
    <time dateTime={at} title={formatExact(locale, then)}>
      {words}
    </time>
  );
}

/** A translated sentence with an element in it: `text` puts the mark where the element belongs, wherever the language wants it. */
export function Sentence({ text, slot }: { text: (mark: string) => string; slot: ReactNode }) {
  const mark = '\u2063';
  const [before, ...after] = text(mark).split(mark);
  return (
    <>
      {before}
      {slot}
      {after.join('')}
    </>
  );
}
