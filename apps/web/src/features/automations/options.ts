import type {
  ActionData,
  ConditionData,
  InstantCondition,
  Operator,
  StateValue,
  TriggerData,
} from '@station/protocol/automation-flow';
import type { Capability, DeviceType, Parameter } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { ownValue } from '@station/protocol/own-value';
import { deviceOf, devicesOfZone, typeOf, type Surroundings } from './automations.ts';

/*
 * The choices for a device in the automation builder. Each choice is a part with everything filled in except numbers,
 * which begin with what the device shows now.
 */

/** Identifies a choice: two parts with one key differ in a number only. */
export function keyOf(data: TriggerData | ConditionData | ActionData): string {
  switch (data.kind) {
    case 'device_event_received':
      return `event ${data.config.action ?? '*'}`;
    case 'zone_state_changed':
    case 'device_state_changed': {
      const { capability, operator, value } = data.config;
      return operator === undefined || value === undefined
        ? `state ${capability}`
        : `state ${capability} ${operator} ${valueKey(value)}`;
    }
    case 'device_status_changed':
      return `status ${data.config.status ?? '*'}`;
    case 'schedule':
      return data.config.sun !== undefined ? 'sun' : data.config.cron === undefined ? 'time' : 'cron';
    case 'state_equals':
      return `is ${data.config.capability} eq ${valueKey(data.config.value)}`;
    case 'numeric_compare':
      return `is ${data.config.capability} ${data.config.operator} #`;
    case 'time_range':
      return 'time';
    case 'zone_command':
    case 'device_command':
      return `command ${data.config.action} ${Object.values(data.config.params ?? {})
        .map((value) => valueKey(value as StateValue))
        .join(' ')}`;
    case 'scene':
    case 'wait_until':
    case 'delay':
    case 'webhook':
    case 'notify':
      return data.kind;
  }
}

const valueKey = (value: StateValue): string => (typeof value === 'number' ? '#' : String(value));

/** The triggers of a device. */
export function triggerOptions(around: Surroundings, deviceId: string): TriggerData[] {
  const device = deviceOf(around, deviceId);
  const type = typeOf(around, deviceId);
  const events = (type?.events ?? []).map(({ action }) => action);
  const isSwitched = type?.capabilities.some(({ key, kind }) => key === 'on' && kind === 'boolean') ?? false;
  return [
    ...events
      // Its state says the same.
      .filter((action) => !(isSwitched && ['turned_on', 'turned_off'].includes(action)))
      .map((action): TriggerData => ({ kind: 'device_event_received', config: { deviceId, action } })),
    // Motion is already covered by its events.
    ...(type?.capabilities ?? [])
      .filter(({ key }) => !(key === 'motion' && events.includes('motion_detected')))
      .flatMap((capability) => changesOf(device, capability))
      .map((change): TriggerData => ({ kind: 'device_state_changed', config: { deviceId, ...change } })),
    { kind: 'device_status_changed', config: { deviceId, status: 'offline' } },
    { kind: 'device_status_changed', config: { deviceId, status: 'online' } },
  ];
}

type Change = { capability: string; operator?: Operator; value?: StateValue };

function changesOf(device: Device | undefined, capability: Capability): Change[] {
  const { key } = capability;
  const change = (operator: Operator, value: StateValue): Change => ({ capability: key, operator, value });
  if (capability.kind === 'boolean') return [change('eq', true), change('eq', false)];
  if (capability.kind === 'enum') return (capability.values ?? []).map((value) => change('eq', value));
  if (capability.kind === 'number') {
    const now = numberNow(device, capability);
    return [change('gt', now), change('lt', now)];
  }
  return [{ capability: key }];
}

/** The triggers of a zone: what any of its devices can report. */
export function zoneTriggerOptions(around: Surroundings, zoneId: string): TriggerData[] {
  const all = devicesOfZone(around, zoneId).flatMap((device) =>
    (typeOf(around, device.id)?.capabilities ?? [])
      .flatMap((capability) => changesOf(device, capability))
      .map((change): TriggerData => ({ kind: 'zone_state_changed', config: { zoneId, ...change } })),
  );
  return distinct(all);
}

/** The commands of a zone: what at least one of its devices understands. */
export function zoneActionOptions(around: Surroundings, zoneId: string): ActionData[] {
  const all = devicesOfZone(around, zoneId).flatMap(({ id }) =>
    actionOptions(around, id).flatMap((data): ActionData[] => {
      if (data.kind !== 'device_command' || data.config.action === 'reboot') return [];
      const { deviceId: _, ...command } = data.config;
      return [{ kind: 'zone_command', config: { zoneId, ...command } }];
    }),
  );
  return distinct(all);
}

const distinct = <Data extends TriggerData | ActionData>(all: readonly Data[]): Data[] =>
  [...new Map(all.toReversed().map((data) => [keyOf(data), data])).values()].toReversed();

/** The conditions of a device. */
export function conditionOptions(around: Surroundings, deviceId: string): InstantCondition[] {
  const device = deviceOf(around, deviceId);
  const type = typeOf(around, deviceId);
  return (type?.capabilities ?? []).flatMap((capability): InstantCondition[] => {
    const { key } = capability;
    const equals = (value: StateValue): InstantCondition => ({
      kind: 'state_equals',
      config: { deviceId, capability: key, value },
    });
    const compare = (operator: Operator): InstantCondition => ({
      kind: 'numeric_compare',
      config: { deviceId, capability: key, operator, value: numberNow(device, capability) },
    });
    if (capability.kind === 'boolean') return [equals(true), equals(false)];
    if (capability.kind === 'enum') return (capability.values ?? []).map(equals);
    return capability.kind === 'number' ? [compare('gt'), compare('lt')] : [];
  });
}

/** The commands of a device. */
export function actionOptions(around: Surroundings, deviceId: string): ActionData[] {
  const device = deviceOf(around, deviceId);
  const type = typeOf(around, deviceId);
  if (type === undefined || type.commands.length === 0) return [];
  const command = (action: string, params?: Record<string, unknown>): ActionData => ({
    kind: 'device_command',
    config: { deviceId, action, ...(params === undefined ? {} : { params }) },
  });
  return [
    ...type.commands.flatMap(({ action, params }): ActionData[] => {
      const [first, ...more] = Object.entries(params?.properties ?? {});
      if (first === undefined) return [command(action)];
      const [name, parameter] = first;
      if (more.length > 0) return [];
      switch (parameter.type) {
        case 'boolean':
          return [true, false].map((value) => command(action, { [name]: value }));
        case 'string':
          return (parameter.enum ?? valuesOf(type, name)).map((value) => command(action, { [name]: value }));
        case 'number':
        case 'integer':
          return [command(action, { [name]: numberNow(device, rangeOf(name, parameter)) })];
      }
    }),
    command('reboot'),
  ];
}

const valuesOf = ({ capabilities }: DeviceType, key: string): readonly string[] =>
  capabilities.find((capability) => capability.key === key)?.values ?? [];

export const canBeCommanded = ({ commands }: DeviceType): boolean =>
  commands.some(({ params }) => Object.keys(params?.properties ?? {}).length < 2);

/** The parameter that a number is chosen for, with its limits; null when the command has none. */
export function numberOf(type: DeviceType | undefined, action: string): NumberRange | null {
  const [first] = Object.entries(type?.commands.find((one) => one.action === action)?.params?.properties ?? {});
  if (first === undefined) return null;
  const [name, parameter] = first;
  return parameter.type === 'number' || parameter.type === 'integer' ? rangeOf(name, parameter) : null;
}

/** `key`: the capability that has the number, where there is one. */
type NumberRange = { key: string; min?: number | undefined; max?: number | undefined };

const rangeOf = (key: string, { minimum, maximum }: Parameter): NumberRange => ({ key, min: minimum, max: maximum });

/** The number to begin with: the device's current value, else the middle. */
function numberNow(device: Device | undefined, { key, min, max }: NumberRange): number {
  const shown = ownValue(device?.state, key);
  if (typeof shown === 'number') return Math.round(shown);
  return min !== undefined && max !== undefined ? Math.round((min + max) / 2) : (min ?? 0);
}

/** The same choice with another number. */
export function withNumber<Data extends TriggerData | ConditionData | ActionData>(data: Data, value: number): Data {
  if (data.kind === 'device_command' || data.kind === 'zone_command') {
    const [name] = Object.keys(data.config.params ?? {});
    return name === undefined ? data : { ...data, config: { ...data.config, params: { [name]: value } } };
  }
  return { ...data, config: { ...data.config, value } };
}

/** The number of a part; null when there is none in it. NaN while it is not filled in. */
export function numberIn(data: TriggerData | ConditionData | ActionData): number | null {
  if (data.kind === 'device_command' || data.kind === 'zone_command') {
    const [value] = Object.values(data.config.params ?? {});
    return typeof value === 'number' ? value : null;
  }
  if (!('value' in data.config)) return null;
  return typeof data.config.value === 'number' ? data.config.value : null;
}
