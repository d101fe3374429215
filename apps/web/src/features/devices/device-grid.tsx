import { lazy, useId, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device, Zone } from '@station/protocol/devices';
import type { DeviceTypeMap } from '../../api/devices.ts';
import { ErrorBoundary } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/card.tsx';
import { LiveTile } from './device-tile.tsx';
import { partsOf, type ZonePart } from './home-parts-decide.ts';
import { NoTiles, ZoneHead } from './zone-head.tsx';
import { ZoneSummary } from './zone-summary.tsx';

/** It comes in a chunk of its own: few homes are that large. The page shows the placeholder meanwhile, and nothing below it. */
const CompactGrid = lazy(async () => ({ default: (await import('./compact-grid.tsx')).CompactGrid }));

/** Of more devices only those near the screen are in the page. */
const mostAtOnce = 60;

const grid = 'grid grid-cols-1 gap-2 md:grid-cols-2 lg:grid-cols-3';

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
  const parts = useMemo(() => partsOf(devices, zones, favourites, mayManage), [devices, zones, favourites, mayManage]);
  const titleOf = ({ kind, zone }: ZonePart): string =>
    zone?.name ??
    t(kind === 'favourites' ? 'home.favourites' : parts.length > 1 ? 'home.otherDevices' : 'home.devices');
  if (devices.length > mostAtOnce) {
    return <CompactGrid parts={parts} titleOf={titleOf} types={types} usable={usable} />;
  }
  return (
    <>
      {parts.map((part) => (
        <ZoneSection key={part.zone?.id ?? part.kind} title={titleOf(part)} part={part} types={types} usable={usable} />
      ))}
    </>
  );
}

function ZoneSection({
  title,
  part: { devices, all },
  types,
  usable,
}: {
  title: string;
  part: ZonePart;
  types: DeviceTypeMap;
  usable: boolean;
}) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <ZoneHead id={id} title={title}>
        {usable && (
          <ErrorBoundary instead={null}>
            <ZoneSummary name={title} devices={all} types={types} />
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
          <div key={index} className="flex h-18 items-center gap-3 rounded-2xl border border-line bg-surface px-3">
            <Skeleton className="size-10 rounded-full" />
            <div className="space-y-2">
              <Skeleton className="h-5 w-32" />
              <Skeleton className="h-4 w-20" />
            </div>
          </div>
        ))}
      </div>
    </div>
  );
}
