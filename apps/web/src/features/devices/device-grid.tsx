import { lazy, useId, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device, Zone } from '@station/protocol/devices';
import type { DeviceTypeMap } from '../../api/devices.ts';
import { useServices, useStore } from '../../api/services.ts';
import { ErrorBoundary } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/card.tsx';
import { LiveTile } from './device-tile.tsx';
import { partsOf, type ZonePart } from './home-parts-decide.ts';
import { NoTiles, ZoneHead } from './zone-head.tsx';
import { ZoneOffButton } from './zone-off-button.tsx';

/** It comes in a chunk of its own: few homes are that large. The page shows the placeholder meanwhile, and nothing below it. */
const CompactGrid = lazy(async () => ({ default: (await import('./compact-grid.tsx')).CompactGrid }));

/** With more devices the tiles are compact, and only those near the screen are in the page. */
const mostLargeTiles = 60;

const grid = 'grid grid-cols-2 gap-3 md:grid-cols-3 md:gap-4 lg:grid-cols-4';

/** Tiles of the favourites, then by zone in the order of the household; what is in none comes last. */
export function DeviceGrid({
  devices,
  types,
  zones,
  favourites,
  usable,
  mayManage,
}: {
  devices: readonly Device[];
  types: DeviceTypeMap;
  zones: readonly Zone[];
  /** Ids of devices. */
  favourites: readonly string[];
  usable: boolean;
  /** Whether zones may be changed; then also those are shown that are empty. */
  mayManage: boolean;
}) {
  const { t } = useTranslation();
  const size = useStore(useServices().tiles);
  const parts = useMemo(() => partsOf(devices, zones, favourites, mayManage), [devices, zones, favourites, mayManage]);
  const titleOf = ({ kind, zone }: ZonePart): string =>
    zone?.name ??
    t(kind === 'favourites' ? 'home.favourites' : parts.length > 1 ? 'home.otherDevices' : 'home.devices');
  if (devices.length > mostLargeTiles || size === 'compact') {
    return <CompactGrid parts={parts} titleOf={titleOf} types={types} usable={usable} mayManage={mayManage} />;
  }
  return (
    <>
      {parts.map((part) => (
        <ZoneSection
          key={part.zone?.id ?? part.kind}
          title={titleOf(part)}
          part={part}
          types={types}
          usable={usable}
          mayManage={mayManage}
        />
      ))}
    </>
  );
}

function ZoneSection({
  title,
  part: { zone, devices, all },
  types,
  usable,
  mayManage,
}: {
  title: string;
  part: ZonePart;
  types: DeviceTypeMap;
  usable: boolean;
  mayManage: boolean;
}) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <ZoneHead id={id} title={title} zone={mayManage && usable ? zone : null}>
        {usable && (
          <ErrorBoundary instead={null}>
            <ZoneOffButton name={title} devices={all} types={types} />
          </ErrorBoundary>
        )}
      </ZoneHead>
      {devices.length > 0 ? (
        <ul className={grid}>
          {devices.map((device) => (
            <LiveTile key={device.id} id={device.id} types={types} usable={usable} />
          ))}
        </ul>
      ) : (
        <NoTiles isEmpty={all.length === 0} />
      )}
    </section>
  );
}

export function DeviceGridSkeleton() {
  return (
    <div aria-hidden>
      <Skeleton className="mt-2.5 mb-3.5 h-6 w-28" />
      <div className={grid}>
        {Array.from({ length: 4 }, (_, index) => (
          <div key={index} className="flex min-h-40 flex-col rounded-2xl border border-line bg-surface p-4">
            <Skeleton className="size-10 rounded-full" />
            <div className="mt-3 space-y-2">
              <Skeleton className="h-8 w-20" />
              <Skeleton className="h-5 w-24" />
              <Skeleton className="h-4 w-16" />
            </div>
          </div>
        ))}
      </div>
    </div>
  );
}
