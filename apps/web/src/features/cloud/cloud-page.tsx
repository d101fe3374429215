import { Cloud, CloudOff, Globe, Hourglass, House } from 'lucide-react';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import type { CloudStatus } from '@station/protocol/cloud';
import type { Member } from '@station/protocol/rest';
import type { Freshness } from '../../api/reading.ts';
import { useServices } from '../../api/services.ts';
import { membersKey, useMembers } from '../../api/station.ts';
import { Card, EmptyNote, Skeleton } from '../../ui/card.tsx';
import { Loading } from '../../ui/loading.tsx';
import { ConditionsCard } from '../../ui/conditions-card.tsx';
import { LinkButton } from '../../ui/links.tsx';
import { Dimmable, Headline, PageHead, PageTitle } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { ActivityCard, ChannelsCard } from './activity-card.tsx';
import { ClaimCard } from './claim-card.tsx';
import { useCloudStatus } from './cloud-link.ts';
import { cloudHeadline } from './cloud-words.ts';
import { LinkCard } from './link-card.tsx';
import { WaitingCard } from './waiting-card.tsx';

/** Remote access: how to get it, how it is, how to end it. */
export function CloudPage() {
  const { t } = useTranslation();
  const view = useCloudStatus();
  if (view.kind === 'shown') return <Shown status={view.value} freshness={view.freshness} />;
  return (
    <>
      <PageHead page={t('cloud.title')}>
        <PageTitle title={t('cloud.title')}>{t('cloud.lead')}</PageTitle>
      </PageHead>
      {view.kind === 'fault' ? (
        <ReadFault title={t('cloud.fault')} {...view} />
      ) : (
        <Loading cards={['h-56', 'h-64']} className="lg:grid-cols-[minmax(0,1fr)_20rem]" />
      )}
    </>
  );
}

function Shown({ status, freshness }: { status: CloudStatus; freshness: Freshness }) {
  const { t } = useTranslation();
  const stale = freshness.kind === 'stale';
  const headline = cloudHeadline(t, status);
  const isOff = status.state === 'disabled';
  return (
    <>
      <PageHead page={t('cloud.title')} freshness={freshness}>
        <PageTitle title={t('cloud.title')}>
          {isOff ? headline.words : <Headline {...headline} stale={stale} />}
        </PageTitle>
      </PageHead>
      <Dimmable stale={stale}>
        {isOff ? (
          <EmptyNote icon={CloudOff} title={t('cloud.disabled.title')} help={t('cloud.disabled.help')} />
        ) : (
          <Cards status={status} usable={!stale} />
        )}
      </Dimmable>
    </>
  );
}

function Cards({ status, usable }: { status: CloudStatus; usable: boolean }) {
  const { conditions } = status;
  const isClaimed = status.claimedAt !== null;
  return (
    <div className="main-and-side">
      <div className="cards">
        {conditions.length > 0 && <ConditionsCard conditions={conditions} />}
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
      <div className="cards">
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

const reasons = [
  ['away', Globe],
  ['home', House],
  ['kept', Hourglass],
  ['end', CloudOff],
] as const;

/** For a person without a cloud: what it offers, and what it does not affect. */
export function AboutCard() {
  const { t } = useTranslation();
  return (
    <Card title={t('cloud.about.title')}>
      <ul className="space-y-4">
        {reasons.map(([name, Icon]) => (
          <li key={name} className="flex gap-3">
            <Icon aria-hidden className="mt-0.5 size-5 shrink-0 text-accent" />
            <span className="min-w-0">{t(`cloud.about.${name}`)}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** The members, and which of them use the cloud. @param askedAt the cloud may have changed them then. */
export function PeopleCard({ askedAt }: { askedAt: string | null }) {
  const { t } = useTranslation();
  const { queries } = useServices();
  useEffect(() => {
    if (askedAt !== null) void queries.invalidateQueries({ queryKey: membersKey });
  }, [queries, askedAt]);
  const view = useMembers();
  if (view.kind === 'fault') return <ReadFault title={t('cloud.people.fault')} {...view} />;
  return (
    <Card title={t('cloud.people.title')}>
      {view.kind === 'loading' ? <Skeleton className="h-24" /> : <People members={view.value} />}
      <LinkButton href="/settings/people" kind="quiet" className="mt-4 -mb-2 -ml-4">
        {t('cloud.people.manage')}
      </LinkButton>
    </Card>
  );
}

function People({ members }: { members: readonly Member[] }) {
  const { t } = useTranslation();
  return (
    <ul className="-my-2 divide-y divide-line">
      {members.map(({ userId, name, role, isFromCloud }) => {
        const Icon = isFromCloud ? Cloud : House;
        return (
          <li key={userId} className="py-3">
            <p className="flex flex-wrap items-baseline justify-between gap-x-3">
              <span className="font-strong break-words">{name}</span>
              <span className="text-small text-ink-soft">{t(`account.role.${role}`)}</span>
            </p>
            <p className="flex items-center gap-2 text-small text-ink-soft">
              <Icon aria-hidden className="size-4 shrink-0" />
              {t(isFromCloud ? 'cloud.people.cloud' : 'cloud.people.here')}
            </p>
          </li>
        );
      })}
    </ul>
  );
}
