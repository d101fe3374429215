import { useId, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device, Zone } from '@station/protocol/devices';
import { Skeleton } from '../ui/skeleton.tsx';
import { DeviceTile } from './device-tile.tsx';

const grid = 'grid grid-cols-2 gap-3 md:grid-cols-3 md:gap-4 lg:grid-cols-4';

/** Tiles by zone, in the order of the zones; what is in none comes last. */
export function DeviceGrid({
  devices,
  types,
  zones,
  usable,
}: {
  devices: readonly Device[];
  types: ReadonlyMap<string, DeviceType>;
  zones: readonly Zone[];
  usable: boolean;
}) {
  const { t } = useTranslation();
  const parts = byZone(devices, zones);
  return (
    <>
      {parts.map(({ zone, devices: inside }) => (
        <ZoneSection
          key={zone?.id ?? 'none'}
          title={zone?.name ?? t(parts.length > 1 ? 'home.otherDevices' : 'home.devices')}
        >
          {inside.map((device) => (
            <DeviceTile key={device.id} device={device} type={types.get(device.type)} usable={usable} />
          ))}
        </ZoneSection>
      ))}
    </>
  );
}

function ZoneSection({ title, children }: { title: string; children: ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h2 id={id} className="mb-3 font-strong">
        {title}
      </h2>
      <ul className={grid}>{children}</ul>
    </section>
  );
}

export function DeviceGridSkeleton() {
  return (
    <div aria-hidden>
      <Skeleton className="mb-3 h-6 w-28" />
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

export type ZonePart = { zone: Zone | null; devices: readonly Device[] };

/** A zone without devices takes no place; a device of a zone that is not known yet is among the others. */
export function byZone(devices: readonly Device[], zones: readonly Zone[]): ZonePart[] {
  const known = new Set(zones.map(({ id }) => id));
  const parts: ZonePart[] = zones.map((zone) => ({
    zone,
    devices: devices.filter(({ zoneId }) => zoneId === zone.id),
  }));
  parts.push({ zone: null, devices: devices.filter(({ zoneId }) => zoneId === null || !known.has(zoneId)) });
  return parts.filter((part) => part.devices.length > 0);
}
