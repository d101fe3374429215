import { Plus, ToggleRight } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Device, Zone } from '@station/protocol/devices';
import { isLimited, isManager, type Role } from '@station/protocol/roles';
import type { DeviceTypeMap } from '../api/devices.ts';
import type { Reading } from '../api/reading.ts';
import { useUser } from '../api/services.ts';
import { DeviceGrid } from '../features/devices/device-grid.tsx';
import { EmptyNote } from '../ui/card.tsx';
import { LinkButton } from '../ui/links.tsx';
import { ReadFault } from '../ui/problem.tsx';

/* What home says and shows of the devices. */

/** How long the devices wait for the agent, which may not answer at all. */
const statusDueMs = 1_000;

/** Whether something that is loading may still come soon. */
export function useIsDue(isLoading: boolean): boolean {
  const [isOver, setIsOver] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsOver(true), statusDueMs);
    return () => clearTimeout(timer);
  }, []);
  return isLoading && !isOver;
}

export function DevicesPart({
  view,
  types,
  zones,
  favourites,
  usable,
}: {
  view: Reading<readonly Device[]>;
  types: DeviceTypeMap | null;
  zones: readonly Zone[] | null;
  favourites: readonly string[] | null;
  usable: boolean;
}) {
  const { t } = useTranslation();
  const { role } = useUser();
  const mayManage = isManager(role);
  if (view.kind === 'fault') return <ReadFault title={t('device.fault')} {...view} />;
  if (view.kind === 'loading' || zones === null || types === null || favourites === null) return null;
  if (view.value.length === 0) return <NoDevices role={role} />;
  return (
    <DeviceGrid
      devices={view.value}
      types={types}
      zones={zones}
      favourites={favourites}
      usable={usable}
      mayManage={mayManage}
    />
  );
}

export function AddDeviceLink({ kind }: { kind?: 'primary' }) {
  const { t } = useTranslation();
  return (
    <LinkButton href="/add" {...(kind && { kind })} className="shrink-0">
      <Plus aria-hidden className="size-5" />
      {t('home.add')}
    </LinkButton>
  );
}

function NoDevices({ role }: { role: Role }) {
  const { t } = useTranslation();
  return (
    <section aria-labelledby="devices">
      <h2 id="devices" className="mb-3 font-strong">
        {t('home.devices')}
      </h2>
      <EmptyNote
        icon={ToggleRight}
        heading="h3"
        title={t('home.noDevices.title')}
        help={t(isLimited(role) ? 'home.noDevices.inZones' : 'home.noDevices.help')}
      >
        {isManager(role) && <AddDeviceLink kind="primary" />}
      </EmptyNote>
    </section>
  );
}
