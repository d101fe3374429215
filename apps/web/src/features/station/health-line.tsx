import { useTranslation } from 'react-i18next';
import type { Status } from '@station/protocol/agent-api';
import { dot } from '../../i18n/words.ts';
import { Skeleton } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';
import { ToneDisc } from '../../ui/tone.tsx';
import { healthOf, toneOf } from './health.ts';
import { healthWords, releaseWords } from './station-words.ts';

/** The health summary as the headline of a page. */
export function HealthLine({ status }: { status: Status }) {
  const { t } = useTranslation();
  const health = healthOf(status);
  const tone = toneOf(health);
  return (
    <div className={classNames('flex items-center gap-4', headHeight)}>
      <ToneDisc tone={tone} large />
      <div className="min-w-0">
        <h1 aria-live="polite" className="text-title font-strong md:text-value">
          <span className="sr-only">{t(`health.tone.${tone}`)}: </span>
          {healthWords(t, health)}
        </h1>
        <p className="text-ink-soft first-letter:uppercase">
          {health.kind !== 'nothing_installed' && <>{releaseWords(t, status.currentVersion) + dot}</>}
          <LastCheck at={status.lastCheckAt} />
        </p>
      </div>
    </div>
  );
}

function LastCheck({ at }: { at: string | null }) {
  const { t } = useTranslation();
  if (at === null) return t('health.neverChecked');
  return <Sentence text={(time) => t('health.checked', { time })} slot={<TimeAgo at={at} />} />;
}

/** So that nothing below moves when the words come. */
export const headHeight = 'min-h-19 md:min-h-18';

/** In the place of the health line, before it is known. */
export function HealthSkeleton() {
  const { t } = useTranslation();
  return (
    <div className={classNames('flex items-center gap-4', headHeight)}>
      <h1 className="sr-only">
        <span role="status">{t('app.loading')}</span>
      </h1>
      <Skeleton className="size-12 rounded-full md:size-14" />
      <div className="flex-1 space-y-2">
        <Skeleton className="h-7 w-56 max-w-full md:h-10 md:w-80" />
        <Skeleton className="h-10 w-44 sm:h-6" />
      </div>
    </div>
  );
}
