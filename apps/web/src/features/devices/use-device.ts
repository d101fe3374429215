import { useContext } from 'react';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { useStore } from '../../api/services.ts';
import { DeviceControlContext, type Wish } from './device-control.ts';
import { type DeviceView, type Setting, viewOf } from './device-view.ts';

/** A device as it is shown now, and how to ask something of it. */
export type ControlledDevice = DeviceView & {
  wish: Wish | undefined;
  /** Asked for and not confirmed yet. */
  waiting: boolean;
  ask(setting: Setting, value: boolean | number): void;
};

export function useControlledDevice(device: Device, type: DeviceType | undefined): ControlledDevice {
  const control = useContext(DeviceControlContext);
  if (!control) throw new Error('useControlledDevice outside of DeviceControlContext');
  const wish = useStore(control.wishes).get(device.id);
  return {
    ...viewOf(device, type, wish),
    wish,
    waiting: wish !== undefined && wish.refusal === null,
    ask: (setting, value) => void control.ask(device.id, setting.request(value), { [setting.capability.name]: value }),
  };
}
