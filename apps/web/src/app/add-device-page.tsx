import { lazy } from 'react';
import { isManager } from '@station/protocol/roles';
import { useUser } from '../api/services.ts';
import { DeviceIcon } from '../features/devices/device-icon.tsx';
import { DeviceTile } from '../features/devices/device-tile.tsx';
import { useWaitingCount } from '../features/devices/unknown-devices.ts';
import { AddPage } from '../features/provisioning/add-page.tsx';

const parts = { Tile: DeviceTile, Icon: DeviceIcon };
const ManualPage = lazy(async () => ({
  default: (await import('../features/provisioning/manual-page.tsx')).ManualPage,
}));
const UsbPage = lazy(async () => ({ default: (await import('../features/provisioning/usb-page.tsx')).UsbPage }));
const GatewaysPage = lazy(async () => ({
  default: (await import('../features/provisioning/gateways-page.tsx')).GatewaysPage,
}));
const ListPage = lazy(async () => ({ default: (await import('../features/provisioning/list-page.tsx')).ListPage }));

/** The ways to add a device, each with an address of its own; the devices' own parts are handed in. */
export function AddDevicePage({ way }: { way: string | undefined }) {
  const waiting = useWaitingCount(isManager(useUser().role));
  if (way === 'manual') return <ManualPage parts={parts} />;
  if (way === 'usb') return <UsbPage />;
  if (way === 'list') return <ListPage />;
  if (way === 'gateways') return <GatewaysPage />;
  return <AddPage parts={parts} waiting={waiting} />;
}
