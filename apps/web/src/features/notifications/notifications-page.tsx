import { useTranslation } from 'react-i18next';
import type { NotificationsView } from '@station/protocol/notifications';
import { isManager } from '@station/protocol/roles';
import { useReading } from '../../api/reading.ts';
import { useUser } from '../../api/services.ts';
import { Read } from '../../ui/loading.tsx';
import { Dimmable, PageHead, PageTitle } from '../../ui/page.tsx';
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
  return (
    <>
      <PageHead page={t('notifications.title')} {...(view.kind === 'shown' && { freshness: view.freshness })}>
        <PageTitle title={t('notifications.title')}>{t('notifications.lead')}</PageTitle>
      </PageHead>
      <Read view={view} fault={t('notifications.fault')} cards={['h-48', 'h-96']} className="lg:grid-cols-2">
        {(value, stale) => (
          <Dimmable stale={stale} className="cards items-start lg:grid-cols-2">
            <div className="cards">
              <BrowserCard view={value} usable={!stale} />
              <OwnCards view={value} usable={!stale} />
            </div>
            {mayManage && (
              <div className="cards">
                <StationCards view={value} usable={!stale} />
              </div>
            )}
          </Dimmable>
        )}
      </Read>
    </>
  );
}

function StationCards({ view, usable }: { view: NotificationsView; usable: boolean }) {
  const { t } = useTranslation();
  const station = useReading(stationNotificationsKey, 'GET /api/notifications/station');
  return (
    <Read view={station} fault={t('notifications.fault')} cards={['h-96']}>
      {(value) => (
        <>
          <RulesCard station={value} usable={usable} />
          <ChannelsCard station={value} view={view} usable={usable} />
        </>
      )}
    </Read>
  );
}
