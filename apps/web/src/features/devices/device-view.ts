import type { CommandRequest } from '@station/protocol/device-commands';
import type { Capability, DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import type { CapabilityValue } from '../../i18n/device-words.ts';
import type { Values, Wish } from './device-control.ts';

/** A value that can be set: with what command. */
export type Setting = CapabilityValue & { request(value: boolean | number): CommandRequest };

/** What a tile or a page shows of a device, made of its state, its type and what was just asked of it. */
export type DeviceView = {
  /** In order of importance; a value that was never reported is undefined. */
  readings: readonly CapabilityValue[];
  /** The main action: switches the first value that can be switched. */
  toggle: Setting | null;
  /** The second action: the first number with both ends that can be set. */
  slider: Setting | null;
};

export function viewOf(device: Device, type: DeviceType | undefined, wish: Wish | undefined): DeviceView {
  const values: Values = { ...device.state, ...wish?.values };
  const readings = (type?.capabilities ?? capabilitiesOf(device.state)).map((capability) => ({
    capability,
    value: values[capability.name],
  }));
  const settings = type === undefined ? [] : readings.flatMap((reading) => settingOf(reading, type) ?? []);
  return {
    readings,
    toggle: settings.find(({ capability }) => capability.kind === 'boolean') ?? null,
    slider: settings.find(({ capability }) => isRange(capability)) ?? null,
  };
}

export const isRange = ({ kind, min, max }: Capability): boolean => kind === 'number' && min !== null && max !== null;

function settingOf(reading: CapabilityValue, type: DeviceType): Setting | null {
  for (const { action, parameters } of type.commands) {
    const [parameter] = parameters;
    if (parameters.length !== 1 || parameter?.capability !== reading.capability.name) continue;
    return { ...reading, request: (value) => ({ action, params: { [parameter.name]: value } }) };
  }
  return null;
}

/** Of a type that this page has never heard of: what its state itself tells. */
function capabilitiesOf(state: Values): Capability[] {
  return Object.entries(state).flatMap(([name, value]): Capability[] => {
    const kind = typeof value;
    if (kind !== 'number' && kind !== 'boolean' && kind !== 'string') return [];
    return [{ name, kind: kind === 'string' ? 'text' : kind, unit: null, min: null, max: null }];
  });
}
