import { Pencil } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device, Zone } from '@station/protocol/devices';
import { Skeleton } from '../../ui/card.tsx';
import { DeviceTile } from './device-tile.tsx';

/** It comes in a chunk of its own: the first page has no room for it. */
const ZoneDialog = lazy(async () => ({ default: (await import('./zone-dialog.tsx')).ZoneDialog }));

const grid = 'grid grid-cols-2 gap-3 md:grid-cols-3 md:gap-4 lg:grid-cols-4';

/** Tiles by zone, in the order of the zones; what is in none comes last. */
export function DeviceGrid({
  devices,
  types,
  zones,
  usable,
  mayManage,
}: {
  devices: readonly Device[];
  types: ReadonlyMap<string, DeviceType>;
  zones: readonly Zone[];
  usable: boolean;
  /** Whether zones may be changed; then also those are shown that are empty. */
  mayManage: boolean;
}) {
  const { t } = useTranslation();
  const parts = byZone(devices, zones).filter((part) => part.devices.length > 0 || (mayManage && part.zone !== null));
  return (
    <>
      {parts.map(({ zone, devices: inside }) => (
        <ZoneSection
          key={zone?.id ?? 'none'}
          title={zone?.name ?? t(parts.length > 1 ? 'home.otherDevices' : 'home.devices')}
          zone={mayManage && usable ? zone : null}
        >
          {inside.map((device) => (
            <DeviceTile key={device.id} device={device} type={types.get(device.type)} usable={usable} />
          ))}
        </ZoneSection>
      ))}
    </>
  );
}

function ZoneSection({
  title,
  zone,
  children,
}: {
  title: string;
  /** Null when there is nothing to change about it. */
  zone: Zone | null;
  children: ReactNode[];
}) {
  const { t } = useTranslation();
  const id = useId();
  const [editing, setEditing] = useState(false);
  return (
    <section aria-labelledby={id}>
      <div className="mb-1 flex min-h-11 items-center gap-1">
        <h2 id={id} className="min-w-0 font-strong break-words">
          {title}
        </h2>
        {zone && (
          <button
            type="button"
            aria-label={t('home.zone.edit', { name: zone.name })}
            onClick={() => setEditing(true)}
            className="grid size-11 shrink-0 place-items-center rounded-xl text-ink-soft hover:text-ink"
          >
            <Pencil aria-hidden className="size-4" />
          </button>
        )}
      </div>
      {children.length > 0 ? (
        <ul className={grid}>{children}</ul>
      ) : (
        <p className="text-ink-soft">{t('home.zone.empty')}</p>
      )}
      {zone && editing && (
        <Suspense fallback={null}>
          <ZoneDialog zone={zone} onClose={() => setEditing(false)} />
        </Suspense>
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

type ZonePart = { zone: Zone | null; devices: readonly Device[] };

/** A device of an unknown zone is in the last group. */
function byZone(devices: readonly Device[], zones: readonly Zone[]): ZonePart[] {
  const known = new Set(zones.map(({ id }) => id));
  const parts: ZonePart[] = zones.map((zone) => ({
    zone,
    devices: devices.filter(({ zoneId }) => zoneId === zone.id),
  }));
  parts.push({ zone: null, devices: devices.filter(({ zoneId }) => zoneId === null || !known.has(zoneId)) });
  return parts;
}
