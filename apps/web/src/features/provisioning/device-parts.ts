import type { ComponentType } from 'react';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';

/** What these pages show of the devices' own pages; handed in by the app. */
export type DeviceParts = {
  /** The tile of a device, as at home. A list item. */
  Tile: ComponentType<{ device: Device; type: DeviceType | undefined; usable: boolean }>;
  Icon: ComponentType<{ icon: string | undefined; on: boolean }>;
};
