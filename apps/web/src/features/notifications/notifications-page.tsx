import { useTranslation } from 'react-i18next';
import type { NotificationsView } from '@station/protocol/notifications';
import { isManager } from '@station/protocol/roles';
import { type Freshness, useReading } from '../../api/reading.ts';
import { useUser } from '../../api/services.ts';
import { Skeleton } from '../../ui/card.tsx';
import { Dimmable, PageHead, PageTitle } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { BrowserCard } from './browser-card.tsx';
import { ChannelsCard } from './channels-card.tsx';
import { stationNotificationsKey, viewKey } from './notifications-key.ts';
import { OwnCards } from './own-card.tsx';
import { RulesCard } from './rules-card.tsx';

/** What people are told, and where it goes. */
export function NotificationsPage() {
  const { t } = useTranslation();
  const mayManage = isManager(useUser().role);
  const view = useReading(viewKey, 'GET /api/notifications');
  if (view.kind === 'fault')
    return (
      <>
        <Head />
        <ReadFault title={t('notifications.fault')} {...view} />
      </>
    );
  if (view.kind === 'loading')
    return (
      <>
        <Head />
        <div role="status" aria-label={t('app.loading')} className="grid items-start gap-4 md:gap-6 lg:grid-cols-2">
          <Skeleton className="h-48 rounded-2xl" />
          <Skeleton className="h-96 rounded-2xl" />
        </div>
      </>
    );
  const { value, freshness } = view;
  const usable = freshness.kind !== 'stale';
  return (
    <>
      <Head freshness={freshness} />
      <Dimmable stale={!usable} className="grid grid-cols-1 items-start gap-4 md:gap-6 lg:grid-cols-2">
        <div className="grid grid-cols-1 gap-4 md:gap-6">
          <BrowserCard view={value} usable={usable} />
          <OwnCards view={value} usable={usable} />
        </div>
        {mayManage && (
          <div className="grid grid-cols-1 gap-4 md:gap-6">
            <StationCards view={value} usable={usable} />
          </div>
        )}
      </Dimmable>
    </>
  );
}

function StationCards({ view, usable }: { view: NotificationsView; usable: boolean }) {
  const { t } = useTranslation();
  const station = useReading(stationNotificationsKey, 'GET /api/notifications/station');
  if (station.kind === 'fault') return <ReadFault title={t('notifications.fault')} {...station} />;
  if (station.kind === 'loading') return <Skeleton className="h-96 rounded-2xl" />;
  return (
    <>
      <RulesCard station={station.value} usable={usable} />
      <ChannelsCard station={station.value} view={view} usable={usable} />
    </>
  );
}

function Head({ freshness }: { freshness?: Freshness }) {
  const { t } = useTranslation();
  return (
    <PageHead page={t('notifications.title')} {...(freshness && { freshness })}>
      <PageTitle title={t('notifications.title')}>{t('notifications.lead')}</PageTitle>
    </PageHead>
  );
}
