import type { CommandRequest } from '@station/protocol/device-commands';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { ownValue } from '@station/protocol/own-value';
import type { DeviceTypeMap } from '../../api/devices.ts';
import type { CommandState, Values } from './device-control.ts';
import { type Setting, viewOf } from './device-view.ts';

/** A command that switches a device off, and what it sets. */
export type OffCommand = { id: string; request: CommandRequest; values: Values };

/** Values that say whether something runs. "Off" has no such meaning for others: a lock would open. */
const runs = new Set(['on', 'power']);

/** What would switch off those of the devices that are on and can be reached. */
export const offCommands = (
  devices: readonly Device[],
  types: Pick<DeviceTypeMap, 'of'>,
  commands: ReadonlyMap<string, CommandState>,
): OffCommand[] => devices.flatMap((device) => offCommandOf(device, types.of(device), commands.get(device.id)) ?? []);

/** Null for a device that is off, cannot be reached, or can only be toggled: its state may be older than the toggle. */
export function offCommandOf(
  device: Device,
  type: DeviceType | undefined,
  command: CommandState | undefined,
): OffCommand | null {
  if (device.status !== 'online') return null;
  // Asked for every device once a second: most are ruled out without their type.
  if (!hasTrue(device.state) && !hasTrue(command?.values ?? {})) return null;
  const { toggle } = viewOf(device, type, command);
  if (toggle?.value !== true || !canBeSwitchedOff(toggle)) return null;
  return { id: device.id, request: toggle.request(false), values: { [toggle.capability.key]: false } };
}

function hasTrue(values: Values): boolean {
  for (const key in values) if (ownValue(values, key) === true) return true;
  return false;
}

function canBeSwitchedOff(toggle: Setting): boolean {
  const off = toggle.request(false);
  if (JSON.stringify(off) === JSON.stringify(toggle.request(true))) return false;
  return off.action === 'turn_off' || runs.has(toggle.capability.key);
}

/** Of the thermometers that are online, the mean in °C, to a tenth; null: there is none. */
export function temperatureOf(devices: readonly Pick<Device, 'status' | 'state'>[]): number | null {
  const found = devices.flatMap(({ status, state }) => {
    const value = ownValue(state, 'temperature');
    return status === 'online' && typeof value === 'number' ? [value] : [];
  });
  if (found.length === 0) return null;
  const tenths = Math.round((10 * found.reduce((sum, one) => sum + one, 0)) / found.length);
  // Not -0, which would be shown with its sign.
  return tenths === 0 ? 0 : tenths / 10;
}
