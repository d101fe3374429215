import { useContext } from 'react';
import type { CommandRequest } from '@station/protocol/device-commands';
import type { Capability, CommandType, DeviceType } from '@station/protocol/device-types';
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
  const readings = [...(type?.capabilities ?? []), ...furtherCapabilities(device.state, type)].map((capability) => ({
    capability,
    value: values[capability.key],
  }));
  const settings = type === undefined ? [] : readings.flatMap((reading) => settingOf(reading, type) ?? []);
  const isPrimary = ({ capability }: CapabilityValue): boolean => capability.key === type?.primary?.capability;
  const switches = settings.filter(({ capability }) => capability.kind === 'boolean');
  return {
    readings,
    toggle: switches.find(isPrimary) ?? switches[0] ?? null,
    slider: settings.find(({ capability }) => isRange(capability)) ?? null,
  };
}

const isRange = ({ kind, min, max }: Capability): boolean =>
  kind === 'number' && min !== undefined && max !== undefined;

function settingOf(reading: CapabilityValue, type: DeviceType): Setting | null {
  const { key, kind } = reading.capability;
  const setter = type.commands.find((command) => onlyParameterOf(command) === key);
  if (setter) return { ...reading, request: (value) => ({ action: setter.action, params: { [key]: value } }) };
  if (kind !== 'boolean') return null;
  const [on, off] = [true, false].map((value) =>
    type.commands.find((command) => parameterNames(command).length === 0 && command.sets?.[key] === value),
  );
  if (on && off) return { ...reading, request: (value) => ({ action: (value === true ? on : off).action }) };
  const { capability, command: toggle } = type.primary ?? {};
  return capability === key && toggle !== undefined ? { ...reading, request: () => ({ action: toggle }) } : null;
}

const parameterNames = ({ params }: CommandType): string[] => Object.keys(params?.properties ?? {});

const onlyParameterOf = (command: CommandType): string | null => {
  const [name, ...more] = parameterNames(command);
  return name === undefined || more.length > 0 ? null : name;
};

/** Values that the type does not name, or all of them when the type is not known: shown as the device sends them. */
function furtherCapabilities(state: Values, type: DeviceType | undefined): Capability[] {
  return Object.entries(state).flatMap(([key, value]): Capability[] => {
    if (type?.capabilities.some((one) => one.key === key)) return [];
    const kind = typeof value;
    if (kind !== 'number' && kind !== 'boolean' && kind !== 'string') return [];
    return [{ key, kind: kind === 'string' ? 'text' : kind }];
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
    send: (setting, value) => void control.send(device.id, setting.request(value), { [setting.capability.key]: value }),
  };
}
