import { useTranslation } from 'react-i18next';
import type { CloudStatus } from '@station/protocol/cloud';
import { useServices } from '../../api/services.ts';
import { formatClock } from '../../i18n/relative-time.ts';
import { formatDuration } from '../../i18n/units.ts';
import { useLocale } from '../../i18n/use-locale.ts';

/** When the station tries again by itself. The page around it draws itself each second. */
export function NextAttempt({ status }: { status: CloudStatus }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { clock } = useServices();
  const { nextAttemptAt, state } = status;
  if (nextAttemptAt === null) return <p className="text-ink-soft">{t('cloud.link.now')}</p>;
  const at = Date.parse(nextAttemptAt);
  const left = Math.ceil((at - clock.now()) / 1_000) * 1_000;
  if (left <= 0) return <p className="text-ink-soft">{t('cloud.link.now')}</p>;
  return (
    <p className="text-ink-soft tabular-nums">
      {state === 'rejected'
        ? t('cloud.link.slow', { time: formatClock(locale, at) })
        : t('cloud.link.next', { duration: formatDuration(locale, left) })}
    </p>
  );
}
