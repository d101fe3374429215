import { useMutation } from '@tanstack/react-query';
import { Pencil } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device, Zone } from '@station/protocol/devices';
import { devicesKey, zonesKey } from '../../api/devices.ts';
import { asProblem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Skeleton } from '../../ui/card.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { DeviceTile } from './device-tile.tsx';

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
      {zone && editing && <ZoneDialog zone={zone} onClose={() => setEditing(false)} />}
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

/** Renames or removes a zone. */
function ZoneDialog({ zone, onClose }: { zone: Zone; onClose: () => void }) {
  const { t } = useTranslation();
  const { session, queries } = useServices();
  const [name, setName] = useState(zone.name);
  const [missing, setMissing] = useState(false);
  const setZones = (change: (zones: readonly Zone[]) => readonly Zone[]): void =>
    void queries.setQueryData<readonly Zone[]>(zonesKey, (zones) => zones && change(zones));
  const rename = useMutation({
    mutationFn: () => session.call<Zone>('PATCH', `/api/zones/${zone.id}`, { body: { name } }),
    onSuccess: (renamed) => {
      setZones((zones) => zones.map((one) => (one.id === zone.id ? renamed : one)));
      onClose();
    },
  });
  const remove = useMutation({
    mutationFn: () => session.call<void>('DELETE', `/api/zones/${zone.id}`),
    onSuccess: () => {
      setZones((zones) => zones.filter(({ id }) => id !== zone.id));
      queries.setQueryData<readonly Device[]>(devicesKey, (devices) =>
        devices?.map((device) => (device.zoneId === zone.id ? { ...device, zoneId: null } : device)),
      );
      onClose();
    },
  });
  const busy = rename.isPending || remove.isPending;
  const problem = rename.error ?? remove.error;
  const save = (): void => {
    setMissing(name.trim() === '');
    if (name.trim() !== '' && !busy) rename.mutate();
  };
  return (
    <Dialog
      title={t('home.zone.title', { name: zone.name })}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" busy={rename.isPending} disabled={remove.isPending} onClick={save}>
            {t('home.zone.save')}
          </Button>
          <Button busy={remove.isPending} disabled={rename.isPending} onClick={() => remove.mutate()}>
            {t('home.zone.remove')}
          </Button>
          <Button kind="quiet" onClick={onClose}>
            {t('action.cancel')}
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <Field
          label={t('device.settings.name')}
          value={name}
          maxLength={100}
          autoComplete="off"
          onChange={(event) => setName(event.target.value)}
          fault={missing ? t('error.field.required') : null}
        />
      </form>
      <p className="text-ink-soft">{t('home.zone.devicesStay')}</p>
      {problem && <ProblemNote problem={asProblem(problem)} />}
    </Dialog>
  );
}
