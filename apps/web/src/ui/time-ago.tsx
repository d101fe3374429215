import { useTranslation } from 'react-i18next';
import { useServices } from '../api/services.ts';
import { formatExact, formatRelative } from '../i18n/relative-time.ts';
import { useLocale } from '../i18n/use-locale.ts';

/** "5 minutes ago", with the exact time on hover. */
export function TimeAgo({ at }: { at: string }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { clock } = useServices();
  const then = Date.parse(at);
  return (
    <time dateTime={at} title={formatExact(locale, then)}>
      {formatRelative(locale, then, clock.now()) ?? t('time.moment')}
    </time>
  );
}
