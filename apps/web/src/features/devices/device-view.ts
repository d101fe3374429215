import { useContext } from 'react';
import type { CommandRequest } from '@station/protocol/device-commands';
import type { Capability, DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { useStore } from '../../api/services.ts';
import type { CapabilityValue } from '../../i18n/device-words.ts';
import { DeviceControlContext, type Values, type CommandState } from './device-control.ts';

/** A value that can be set: with what command. */
type Setting = CapabilityValue & { request(value: boolean | number): CommandRequest };

/** What a tile or a page shows of a device, from its state, its type and the command that was just sent. */
type DeviceView = {
  /** In order of importance; a value that was never reported is undefined. */
  readings: readonly CapabilityValue[];
  /** The main action: switches the first value that can be switched. */
  toggle: Setting | null;
  /** The second action: the first number with both ends that can be set. */
  slider: Setting | null;
};

export function viewOf(device: Device, type: DeviceType | undefined, command: CommandState | undefined): DeviceView {
  const values: Values = { ...device.state, ...command?.values };
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

const isRange = ({ kind, min, max }: Capability): boolean => kind === 'number' && min !== null && max !== null;

function settingOf(reading: CapabilityValue, type: DeviceType): Setting | null {
  for (const { action, parameters } of type.commands) {
    const [parameter] = parameters;
    if (parameters.length !== 1 || parameter?.capability !== reading.capability.name) continue;
    return { ...reading, request: (value) => ({ action, params: { [parameter.name]: value } }) };
  }
  return null;
}

/** For a type that this page does not know: the view is derived from the state. */
function capabilitiesOf(state: Values): Capability[] {
  return Object.entries(state).flatMap(([name, value]): Capability[] => {
    const kind = typeof value;
    if (kind !== 'number' && kind !== 'boolean' && kind !== 'string') return [];
    return [{ name, kind: kind === 'string' ? 'text' : kind, unit: null, min: null, max: null }];
  });
}

/** A device as it is shown now, and how to send it a command. */
export type ControlledDevice = DeviceView & {
  command: CommandState | undefined;
  /** A command was sent and is not confirmed yet. */
  isPending: boolean;
  send(setting: Setting, value: boolean | number): void;
};

export function useControlledDevice(device: Device, type: DeviceType | undefined): ControlledDevice {
  const control = useContext(DeviceControlContext);
  if (!control) throw new Error('useControlledDevice outside of DeviceControlContext');
  const command = useStore(control.commands).get(device.id);
  return {
    ...viewOf(device, type, command),
    command,
    isPending: command !== undefined && command.refusal === null,
    send: (setting, value) =>
      void control.send(device.id, setting.request(value), { [setting.capability.name]: value }),
  };
}
