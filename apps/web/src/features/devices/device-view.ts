import { useContext, useSyncExternalStore } from 'react';
import type { CommandRequest } from '@station/protocol/device-commands';
import type { Capability, CommandType, DeviceType, Parameter } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { ownValue } from '@station/protocol/own-value';
import type { CapabilityValue } from '../../i18n/device-words.ts';
import { DeviceControlContext, type Values, type CommandState } from './device-control.ts';

/** A value that can be set: with what command. */
export type Setting = CapabilityValue & { request(value: SettingValue): CommandRequest };
type SettingValue = boolean | number | string;

/** What a tile or a page shows of a device, from its state, its type and the command that was just sent. */
type DeviceView = {
  /** In order of importance; a value that was never reported is undefined. */
  readings: readonly CapabilityValue[];
  /** The value that a tile shows large. */
  main: CapabilityValue | null;
  /** Every value that can be set: booleans, numbers with both ends, and enums. */
  settings: readonly Setting[];
  /** The main action: switches the first value that can be switched. */
  toggle: Setting | null;
  /** The second action: the first number with both ends that can be set. */
  slider: Setting | null;
  /** Commands without parameters that do more than change one of the settings. */
  actions: readonly CommandType[];
};

export function viewOf(device: Device, type: DeviceType | undefined, command: CommandState | undefined): DeviceView {
  const values: Values = { ...device.state, ...command?.values };
  const readings = [...(type?.capabilities ?? []), ...furtherCapabilities(device.state, type)].map((capability) => ({
    capability,
    value: ownValue(values, capability.key),
  }));
  const settings = type === undefined ? [] : readings.flatMap((reading) => settingOf(reading, type) ?? []);
  const isPrimary = ({ capability }: CapabilityValue): boolean => capability.key === type?.primary?.capability;
  const switches = settings.filter(({ capability }) => capability.kind === 'boolean');
  const toggle = switches.find(isPrimary) ?? switches[0] ?? null;
  return {
    readings,
    main: toggle ?? readings.find(isPrimary) ?? readings[0] ?? null,
    settings,
    toggle,
    slider: settings.find(({ capability }) => capability.kind === 'number') ?? null,
    actions: type === undefined ? [] : actionsOf(type, settings),
  };
}

function settingOf(reading: CapabilityValue, type: DeviceType): Setting | null {
  const { capability } = reading;
  const { key } = capability;
  for (const { action, params } of type.commands) {
    const [parameter, ...more] = Object.entries(params?.properties ?? {});
    if (parameter === undefined || more.length > 0 || parameter[0] !== key) continue;
    const settable = settableAs(capability, parameter[1]);
    if (settable === null) return null;
    return { ...reading, capability: settable, request: (value) => ({ action, params: { [key]: value } }) };
  }
  return settingWithoutParameters(reading, type);
}

/** The capability within the limits of the command that sets it; null: there is no control for it. */
function settableAs(capability: Capability, parameter: Parameter): Capability | null {
  switch (capability.kind) {
    case 'boolean':
      return capability;
    case 'enum':
      return { ...capability, values: parameter.enum ?? capability.values ?? [] };
    case 'number': {
      const { minimum: min = capability.min, maximum: max = capability.max } = parameter;
      if (min === undefined || max === undefined || min >= max) return null;
      const { step = defaultStep(min, max) } = capability;
      return { ...capability, min, max, step: parameter.type === 'integer' ? Math.max(1, Math.round(step)) : step };
    }
    case 'text':
      return null;
  }
}

/** About a hundred steps. */
function defaultStep(min: number, max: number): number {
  const hundredth = (max - min) / 100;
  return hundredth >= 1 ? Math.round(hundredth) : max - min >= 10 ? 1 : hundredth;
}

/** The places of a slider. Where its steps do not lead to the largest value, the last place is a step further, and means that value. */
export function sliderOf({ min = 0, max = 100, step = defaultStep(min, max) }: Capability) {
  // Parts of a number with a fraction are a little more or less than they are.
  const end = min + Math.ceil((max - min) / step - 1e-9) * step;
  return {
    min,
    end,
    step,
    placeOf: (value: number): number => (value >= max ? end : value),
    valueAt: (place: number): number => Math.min(place, max),
  };
}

/** A value with a command for each of its values, or a boolean with one that toggles it. */
function settingWithoutParameters(reading: CapabilityValue, type: DeviceType): Setting | null {
  const { key, kind, values } = reading.capability;
  const options: readonly SettingValue[] = kind === 'boolean' ? [true, false] : (values ?? []);
  const commands = new Map(
    options.flatMap((value) => {
      const command = type.commands.find((one) => hasNoParameters(one) && ownValue(one.sets, key) === value);
      return command ? [[value, command.action] as const] : [];
    }),
  );
  const { capability, command: toggle = '' } = type.primary ?? {};
  if (options.length > 0 && commands.size === options.length)
    return { ...reading, request: (value) => ({ action: commands.get(value) ?? toggle }) };
  if (kind !== 'boolean' || capability !== key || toggle === '') return null;
  return { ...reading, request: () => ({ action: toggle }) };
}

const hasNoParameters = ({ params }: CommandType): boolean => Object.keys(params?.properties ?? {}).length === 0;

function actionsOf({ commands, primary }: DeviceType, settings: readonly Setting[]): CommandType[] {
  const settable = new Set(settings.map(({ capability }) => capability.key));
  const switchable = new Set(
    settings.filter(({ capability }) => capability.kind === 'boolean').map(({ capability }) => capability.key),
  );
  return commands.filter((command) => {
    const { action, sets = {}, confirmedBy } = command;
    if (!hasNoParameters(command) || (action === primary?.command && switchable.size > 0)) return false;
    const keys = Object.keys(sets);
    const onlySets = keys.length > 0 && keys.every((key) => settable.has(key));
    const onlyToggles = keys.length === 0 && confirmedBy.length > 0 && confirmedBy.every((key) => switchable.has(key));
    return !onlySets && !onlyToggles;
  });
}

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
  /** The brightness of a lamp that is off: setting it switches the lamp on. */
  isOff(setting: Setting): boolean;
  send(setting: Setting, value: SettingValue): void;
  run(action: CommandType): void;
};

export function useControlledDevice(device: Device, type: DeviceType | undefined): ControlledDevice {
  const control = useContext(DeviceControlContext);
  if (!control) throw new Error('useControlledDevice outside of DeviceControlContext');
  const command = useSyncExternalStore(control.commands.subscribe, () => control.commands.get().get(device.id));
  const view = viewOf(device, type, command);
  const lamp = type?.icon === 'lightbulb' ? view.toggle : null;
  const isOff = ({ capability }: Setting): boolean => lamp?.value === false && capability.key === 'brightness';
  return {
    ...view,
    isOff,
    command,
    isPending: command !== undefined && command.refusal === null,
    send: (setting, value) => {
      const on = lamp && isOff(setting) ? { [lamp.capability.key]: true } : {};
      if (lamp && isOff(setting)) void control.send(device.id, lamp.request(true), on);
      void control.send(device.id, setting.request(value), { ...on, [setting.capability.key]: value });
    },
    run: ({ action, sets = {} }) => void control.send(device.id, { action }, sets),
  };
}
