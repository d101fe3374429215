import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { isManager } from '@station/protocol/roles';
import { useReading } from '../../api/reading.ts';
import { useUser } from '../../api/services.ts';
import { stationKey } from '../../api/station.ts';
import { Read } from '../../ui/loading.tsx';
import { Dimmable, PageHead, PageTitle } from '../../ui/page.tsx';
import { PlaceCard } from './place-card.tsx';
import { StationCard } from './station-card.tsx';

/** What the station is called, where and in which time zone it is. `zones`: its zones. */
export function HouseholdPage({ zones }: { zones: ReactNode }) {
  const { t } = useTranslation();
  const mayManage = isManager(useUser().role);
  const view = useReading(stationKey, 'GET /api/station');
  const title = t('settings.rows.household.title');
  return (
    <>
      <PageHead page={title} {...(view.kind === 'shown' && { freshness: view.freshness })}>
        <PageTitle title={title}>{t('settings.rows.household.help')}</PageTitle>
      </PageHead>
      <Read view={view} fault={t('settings.fault')} cards={['h-64']}>
        {(station, stale) => (
          <Dimmable stale={stale} className="cards items-start lg:grid-cols-2">
            <div className="cards">
              <StationCard key={station.id} station={station} mayManage={mayManage} usable={!stale} />
              {zones}
            </div>
            {mayManage && <PlaceCard key={`${station.id} place`} station={station} usable={!stale} />}
          </Dimmable>
        )}
      </Read>
    </>
  );
}
