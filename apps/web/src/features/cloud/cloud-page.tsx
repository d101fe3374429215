import { CloudOff } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { CloudStatus } from '@station/protocol/cloud';
import { PageHead } from '../../ui/page-head.tsx';
import { cloudConditionWords, cloudHeadline } from './cloud-words.ts';
import { useCloudStatus } from './use-cloud.ts';
import type { Freshness } from '../../api/freshness.ts';
import { classNames } from '../../ui/class-names.ts';
import { ReadFault } from '../../ui/read-fault.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { ConditionsCard } from '../../ui/conditions-card.tsx';
import { AboutCard } from './about-card.tsx';
import { ActivityCard } from './activity-card.tsx';
import { ChannelsCard } from './channels-card.tsx';
import { ClaimCard } from './claim-card.tsx';
import { CloudSkeleton } from './cloud-skeleton.tsx';
import { LinkCard } from './link-card.tsx';
import { PeopleCard } from './people-card.tsx';
import { WaitingCard } from './waiting-card.tsx';

/** Remote access: how to get it, how it is, how to end it. */
export function CloudPage() {
  const { t } = useTranslation();
  const view = useCloudStatus();
  if (view.kind === 'shown') return <Shown status={view.value} freshness={view.freshness} />;
  return (
    <>
      <PageHead page={t('cloud.title')}>
        <Title>{t('cloud.lead')}</Title>
      </PageHead>
      {view.kind === 'fault' ? <ReadFault title={t('cloud.fault')} {...view} /> : <CloudSkeleton />}
    </>
  );
}

function Shown({ status, freshness }: { status: CloudStatus; freshness: Freshness }) {
  const { t } = useTranslation();
  const stale = freshness.kind === 'stale';
  const { tone, words } = cloudHeadline(t, status);
  const isOff = status.state === 'disabled';
  return (
    <>
      <PageHead page={t('cloud.title')} freshness={freshness}>
        <Title>
          {isOff ? (
            words
          ) : (
            <span className={classNames('flex gap-2 text-ink', stale && 'dimmed')}>
              <ToneIcon tone={tone} className="mt-0.5" />
              <span aria-live="polite" className="min-w-0">
                {words}
              </span>
            </span>
          )}
        </Title>
      </PageHead>
      <div className={classNames('text-ink transition-[filter] duration-500', stale && 'dimmed')}>
        {isOff ? <Disabled /> : <Cards status={status} usable={!stale} />}
      </div>
    </>
  );
}

function Cards({ status, usable }: { status: CloudStatus; usable: boolean }) {
  const { t } = useTranslation();
  const { conditions } = status;
  const isClaimed = status.claimedAt !== null;
  return (
    <div className="grid grid-cols-1 items-start gap-4 md:gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]">
      <div className="grid grid-cols-1 gap-4 md:gap-6">
        {conditions.length > 0 && (
          <ConditionsCard conditions={conditions} words={(condition) => cloudConditionWords(t, condition)} />
        )}
        {isClaimed ? (
          <>
            <LinkCard status={status} usable={usable} />
            <WaitingCard status={status} usable={usable} />
            <ActivityCard />
          </>
        ) : (
          <ClaimCard status={status} usable={usable} />
        )}
      </div>
      <div className="grid grid-cols-1 gap-4 md:gap-6">
        {isClaimed ? (
          <>
            <PeopleCard askedAt={status.askedAt} />
            <ChannelsCard active={status.activeChannels} />
          </>
        ) : (
          <AboutCard />
        )}
      </div>
    </div>
  );
}

function Title({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <>
      <h1 className="text-title font-strong md:text-value">{t('cloud.title')}</h1>
      <div className="mt-1 text-ink-soft">{children}</div>
    </>
  );
}

function Disabled() {
  const { t } = useTranslation();
  return (
    <div className="flex flex-col items-center gap-2 rounded-2xl border border-dashed border-line-strong px-6 py-10 text-center">
      <CloudOff aria-hidden className="size-8 text-ink-soft" />
      <h2 className="font-strong">{t('cloud.disabled.title')}</h2>
      <p className="max-w-md text-ink-soft">{t('cloud.disabled.help')}</p>
    </div>
  );
}
