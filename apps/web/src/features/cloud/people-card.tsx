import { Cloud, House } from 'lucide-react';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import type { Member } from '@station/protocol/rest';
import { useServices } from '../../api/services.ts';
import { membersKey, useMembers } from '../../api/station.ts';
import { Card } from '../../ui/card.tsx';
import { LinkButton } from '../../ui/link-button.tsx';
import { ReadFault } from '../../ui/read-fault.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';

/** Who has access, and who of them comes in by the cloud. @param askedAt the cloud may have changed them then. */
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
      <LinkButton href="/members" kind="quiet" className="mt-4 -mb-2 -ml-4">
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
