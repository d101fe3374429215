import { useTranslation } from 'react-i18next';
import type { CloudStatus } from '@station/protocol/cloud';
import { formatBytes } from '../../i18n/units.ts';
import { useLocale } from '../../i18n/use-locale.ts';
import { dot } from '../../i18n/words.ts';
import { Card } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Sentence } from '../../ui/sentence.tsx';
import { TimeAgo } from '../../ui/time-ago.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { AsidePart } from './aside-part.tsx';

/** What the cloud has not heard yet. */
export function WaitingCard({ status, usable }: { status: CloudStatus; usable: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const isUp = status.state === 'authenticated';
  // How the link is, the backend that holds it knows; what waits, each of them.
  const hasHeard = isUp || !status.isHeldHere;
  const { pending, dropped, setAside } = status.outbox;
  const formatted = (value: number): string => new Intl.NumberFormat(locale).format(value);
  return (
    <Card title={t('cloud.waiting.title')}>
      {pending === 0 ? (
        <p className="flex gap-3">
          {hasHeard && <ToneIcon tone="ok" className="mt-0.5" />}
          <span>{t(hasHeard ? 'cloud.waiting.none' : 'cloud.waiting.noneAway')}</span>
        </p>
      ) : (
        <>
          <p className="text-value font-strong tabular-nums">
            {t('cloud.waiting.count', { count: pending, formatted: formatted(pending) })}
          </p>
          <p className="text-ink-soft">{t(isUp ? 'cloud.waiting.sending' : 'cloud.waiting.later')}</p>
          <Room status={status} />
        </>
      )}
      {dropped > 0 && (
        <p className="mt-4 flex gap-3">
          <ToneIcon tone="attention" className="mt-0.5" />
          <span>{t('cloud.waiting.dropped', { count: dropped, formatted: formatted(dropped) })}</span>
        </p>
      )}
      <AsidePart count={setAside} usable={usable} />
    </Card>
  );
}

function Room({ status: { outbox } }: { status: CloudStatus }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { bytes, maxBytes, oldestAt } = outbox;
  const percent = Math.min(100, (bytes / maxBytes) * 100);
  const words = t('cloud.waiting.room', { done: formatBytes(locale, bytes), total: formatBytes(locale, maxBytes) });
  return (
    <div className="mt-3">
      <div
        role="meter"
        aria-label={t('cloud.waiting.bar')}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.floor(percent)}
        aria-valuetext={words}
        className="h-2 overflow-hidden rounded-full bg-sunken"
      >
        <div
          className={classNames(
            'h-full min-w-2 rounded-full transition-[width] duration-500',
            percent >= 98 ? 'bg-fault' : percent >= 80 ? 'bg-attention' : 'bg-working',
          )}
          style={{ width: `${percent}%` }}
        />
      </div>
      <p className="mt-1 text-small text-ink-soft tabular-nums">
        {words}
        {oldestAt !== null && (
          <>
            {dot}
            <Sentence text={(time) => t('cloud.waiting.oldest', { time })} slot={<TimeAgo at={oldestAt} />} />
          </>
        )}
      </p>
    </div>
  );
}
