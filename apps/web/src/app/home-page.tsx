import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import type { Status } from '@station/protocol/agent-api';
import type { Device, Zone } from '@station/protocol/devices';
import { isLimited, isManager } from '@station/protocol/roles';
import { useDeviceOutline, useDeviceTypes, useZones } from '../api/devices.ts';
import { useFavourites } from '../api/favourites.ts';
import type { Reading } from '../api/reading.ts';
import { useScenes } from '../api/scenes.ts';
import { useUser } from '../api/services.ts';
import { isSwitching, useStatus } from '../api/station.ts';
import { ArrangeButton } from '../features/devices/arrange-button.tsx';
import { DeviceGridSkeleton } from '../features/devices/device-grid.tsx';
import { SceneBar } from '../features/scenes/scene-bar.tsx';
import { Dimmable, PageHead } from '../ui/page.tsx';
import { useThings } from './home-attention.ts';
import { AddDeviceLink, DevicesPart, useIsDue } from './home-devices.tsx';
import { HomeHeadline } from './home-headline.tsx';

/** Whether everything is fine, the scenes, and the devices in the order of the household. */
export function HomePage() {
  const { t } = useTranslation();
  const view = useStatus();
  const devices = useDeviceOutline();
  const zones = useZones();
  const { role } = useUser();
  const seesAll = !isLimited(role);
  const mayManage = isManager(role);
  const things = useThings(view, devices);
  // The devices work without the agent, so without it only the headline is dimmed.
  const isAgentSilent = view.kind === 'shown' && view.freshness.kind === 'stale';
  const isStale = devices.kind === 'shown' && devices.freshness.kind === 'stale';
  const ofDevices = devices.kind === 'shown' ? devices.freshness : undefined;
  const ofStation = view.kind === 'shown' ? view.freshness : undefined;
  const freshness = isStale || !seesAll ? ofDevices : ofStation;
  // Then the button is in the place of the devices.
  const hasNoDevices = devices.kind === 'shown' && devices.value.length === 0;
  return (
    <>
      <PageHead
        page={t('home.title')}
        restarting={view.kind === 'shown' && isSwitching(view.value.operation)}
        {...(freshness && { freshness })}
      >
        <div className="flex flex-col gap-4 sm:flex-row sm:items-start sm:justify-between">
          <Dimmable stale={isAgentSilent || isStale} className="min-w-0">
            <HomeHeadline view={view} devices={devices} things={things} seesAll={seesAll} />
          </Dimmable>
          {!hasNoDevices && mayManage && (
            <div className="flex shrink-0 gap-2">
              <AddDeviceLink />
              <ArrangeButton zones={zones ?? []} mayManage={!isStale} />
            </div>
          )}
        </div>
      </PageHead>
      <HomeContent view={view} devices={devices} zones={zones} />
    </>
  );
}

function HomeContent({
  view,
  devices,
  zones,
}: {
  view: Reading<Status>;
  devices: Reading<readonly Device[]>;
  zones: readonly Zone[] | null;
}) {
  const types = useDeviceTypes();
  const favourites = useFavourites();
  const scenes = useScenes();
  const seesAll = !isLimited(useUser().role);
  const isStatusDue = useIsDue(seesAll && view.kind === 'loading');
  // Wait for all: what arrives later would move the tiles or draw them anew.
  const isMissing = devices.kind === 'loading' || [zones, types, favourites, scenes].includes(null);
  const isStale = devices.kind === 'shown' && devices.freshness.kind === 'stale';
  if ((isStatusDue || isMissing) && devices.kind !== 'fault') return <DeviceGridSkeleton />;
  return (
    <Suspense fallback={<DeviceGridSkeleton />}>
      <Dimmable stale={isStale} className="grid grid-cols-1 gap-6 md:gap-8">
        <SceneBar scenes={scenes ?? []} usable={!isStale} />
        <DevicesPart view={devices} types={types} zones={zones} favourites={favourites} usable={!isStale} />
      </Dimmable>
    </Suspense>
  );
}
