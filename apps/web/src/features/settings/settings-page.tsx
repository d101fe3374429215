import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Station } from '@station/protocol/rest';
import { isLimited, isManager } from '@station/protocol/roles';
import { type Freshness, useReading } from '../../api/reading.ts';
import { useUser } from '../../api/services.ts';
import { useStatus } from '../../api/station.ts';
import { Card, Skeleton } from '../../ui/card.tsx';
import { Dimmable, PageHead } from '../../ui/page.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { DevicesWifiCard } from './devices-wifi-card.tsx';
import { DiagnosticsCard } from './diagnostics-card.tsx';
import { PlaceCard } from './place-card.tsx';
import { StationCard } from './station-card.tsx';
import { WifiCard } from './wifi-card.tsx';

const stationKey = ['station'];
const wifiKey = ['settings', 'wifi'];

/** Settings that rarely change: the station's name, its time zone, and the Wi-Fi for new devices. `children`: links to further pages. */
export function SettingsPage({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  const view = useReading(stationKey, 'GET /api/station');
  const title = t('settings.title');
  return (
    <>
      <PageHead page={title} {...(view.kind === 'shown' && { freshness: view.freshness })}>
        <h1 className="text-title font-strong md:text-value">{title}</h1>
      </PageHead>
      <div className="mb-4 md:mb-6">{children}</div>
      {view.kind === 'loading' && <Loading />}
      {view.kind === 'fault' && <ReadFault title={t('settings.fault')} {...view} />}
      {view.kind === 'shown' && <Shown station={view.value} freshness={view.freshness} />}
    </>
  );
}

function Shown({ station, freshness }: { station: Station; freshness: Freshness }) {
  const user = useUser();
  const mayManage = isManager(user.role);
  const seesAll = !isLimited(user.role);
  const stale = freshness.kind === 'stale';
  return (
    <Dimmable stale={stale} className="grid grid-cols-1 items-start gap-4 md:gap-6 lg:grid-cols-2">
      <div className="grid grid-cols-1 gap-4 empty:hidden md:gap-6">
        {seesAll && <StationCard key={station.id} station={station} mayManage={mayManage} usable={!stale} />}
        {mayManage && <PlaceCard key={`${station.id} place`} station={station} usable={!stale} />}
        {mayManage && <WifiPart usable={!stale} />}
        {mayManage && <DevicesWifiCard usable={!stale} />}
      </div>
      <div className="grid grid-cols-1 gap-4 md:gap-6">
        {mayManage && <DiagnosticsCard usable={!stale} />}
        {seesAll && <AboutCard station={station} />}
      </div>
    </Dimmable>
  );
}

function WifiPart({ usable }: { usable: boolean }) {
  const { t } = useTranslation();
  const view = useReading(wifiKey, 'GET /api/settings/wifi');
  if (view.kind === 'loading') return <Skeleton className="h-48 rounded-2xl" />;
  if (view.kind === 'fault') return <ReadFault title={t('settings.fault')} {...view} />;
  return <WifiCard wifi={view.value} usable={usable} />;
}

function Loading() {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t('app.loading')} className="grid items-start gap-4 md:gap-6 lg:grid-cols-2">
      <div className="space-y-4 rounded-2xl border border-line bg-surface p-4 md:p-6">
        <Skeleton className="h-6 w-32" />
        <Skeleton className="h-12 rounded-xl" />
        <Skeleton className="h-12 rounded-xl" />
        <Skeleton className="h-11 w-28 rounded-xl" />
      </div>
      <Skeleton className="h-40 rounded-2xl" />
      <Skeleton className="h-48 rounded-2xl" />
      <Skeleton className="h-64 rounded-2xl" />
    </div>
  );
}

/** What runs here, under which licence, and where the data is. */
function AboutCard({ station }: { station: Station }) {
  const { t } = useTranslation();
  const status = useStatus();
  const agent = status.kind === 'shown' ? status.value.agentVersion : null;
  const facts = [
    [t('settings.about.release'), station.version],
    [t('settings.about.agent'), agent ?? (status.kind === 'loading' ? '…' : t('settings.about.unknown'))],
    ...(station.id === null ? [] : [[t('settings.about.stationId'), station.id] as const]),
    [t('settings.about.licence'), t('settings.about.licenceName')],
  ] as const;
  return (
    <Card title={t('settings.about.title')}>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-2">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-ink-soft">{name}</dt>
            <dd className="break-words">{value}</dd>
          </div>
        ))}
      </dl>
      <h3 className="mt-4 border-t border-line pt-4 font-strong">{t('settings.about.data')}</h3>
      <p className="mt-1 text-ink-soft">{t('settings.about.dataHelp')}</p>
    </Card>
  );
}
