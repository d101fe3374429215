import type { Capability } from '@station/protocol/device-types';
import { ownValue } from '@station/protocol/own-value';
import type { State } from '../core/device-state.ts';
import {
  type Call,
  capabilitiesOf,
  type Colour,
  colourCall,
  coverState,
  type Entity,
  inMireds,
  inWords,
  labelOf,
  numberFor,
} from './entities-decide.ts';
import { classOf, isInverted } from './home-assistant-classes.ts';

/** What a device is in Home Assistant: components, their commands and values (home-assistant.io, the page of each platform with MQTT). */

/** Below it are states and commands, so that Home Assistant's own tree has discovery alone. */
export const root = (stationId: string): string => `station-out/${stationId}`;

type Config = Readonly<Record<string, unknown>>;
/** Where a payload becomes a command: the last level of its topic. */
type Slot = { slot: string; write: (payload: string) => Call | null };
/** A component of the discovery message, by an id that no name is part of. */
export type Part = { id: string; platform: string; entity: Entity; config: Config; slots: readonly Slot[] };

/** Such a key cannot be part of a template. */
const isPlain = (key: string): boolean => !/['"\\{}%]/.test(key);
export const slotOf = (key: string): string => encodeURIComponent(key);
const valueOf = (key: string): string => `{{ value_json['${key}'] }}`;

type Place = { commandTopic: (key: string) => string; primary: string | null; deviceId: string; stationId: string };

export function partOf(entity: Entity, place: Place): Part | null {
  const key = keyOf(entity);
  if (!isPlain(key)) return null;
  const { config, slots } = bodyOf(entity, place);
  const { platform } = config;
  const id = `${String(platform)}-${slotOf(key)}`;
  const named = 'capability' in entity ? labelOf(entity.capability) : nameOf(entity);
  // Home Assistant then calls it like the device.
  const isMain =
    ['cover', 'climate'].includes(entity.kind) ||
    (['light', 'switch', 'lock'].includes(entity.kind) && place.primary === key);
  const name = isMain ? null : named;
  return {
    id,
    platform: String(platform),
    entity,
    config: { ...config, name, unique_id: `station_${place.stationId}_${place.deviceId}_${id}` },
    slots,
  };
}

function keyOf(entity: Entity): string {
  if ('capability' in entity) return entity.capability.key;
  if (entity.kind === 'button') return entity.command.action;
  return entity.kind;
}

const nameOf = (entity: Entity): string =>
  entity.kind === 'button'
    ? labelOf({ key: entity.command.action, names: entity.command.names })
    : inWords(entity.kind);

const oneOf = (texts: Readonly<Record<string, Call | null>>) => (payload: string) => ownValue(texts, payload) ?? null;

function bodyOf(entity: Entity, { commandTopic, deviceId, stationId }: Place): { config: Config; slots: Slot[] } {
  switch (entity.kind) {
    case 'light':
    case 'switch':
    case 'lock': {
      const { capability, switching } = entity;
      const { key } = capability;
      const isLock = entity.kind === 'lock';
      const write = isLock
        ? oneOf({ LOCK: switching.on, UNLOCK: switching.off })
        : oneOf({ ON: switching.on, OFF: switching.off });
      const template = entity.kind === 'light' ? 'state_value_template' : 'value_template';
      const own = { platform: entity.kind, command_topic: commandTopic(key), [template]: valueOf(key) };
      const slots = [{ slot: slotOf(key), write }];
      if (entity.kind !== 'light') return { config: own, slots };
      const more = lightBody(entity, { commandTopic, stateTopic: `${root(stationId)}/${deviceId}/state` });
      return { config: { ...own, ...more.config }, slots: [...slots, ...more.slots] };
    }
    case 'cover': {
      const { cover, position } = entity;
      const write = oneOf({ OPEN: cover.open, CLOSE: cover.close, STOP: cover.stop });
      const slots: Slot[] = [{ slot: 'cover', write }];
      if (position !== null)
        slots.push({ slot: slotOf(position.capability.key), write: (payload) => numberFor(position.set, payload) });
      const config = {
        platform: 'cover',
        command_topic: commandTopic('cover'),
        ...(cover.stop === null && { payload_stop: null }),
        ...(cover.state !== null && {
          value_template: valueOf(cover.state.key),
          ...coverWords(cover.state),
        }),
        ...(position !== null && {
          position_topic: `${root(stationId)}/${deviceId}/state`,
          position_template: valueOf(position.capability.key),
          set_position_topic: commandTopic(position.capability.key),
        }),
      };
      return { config, slots };
    }
    case 'climate':
      return climateBody(entity.climate, { commandTopic, stateTopic: `${root(stationId)}/${deviceId}/state` });
    case 'number':
    case 'select':
    case 'text':
      return settingBody(entity, commandTopic);
    case 'sensor':
    case 'binary_sensor': {
      const { capability } = entity;
      const { kind, unit, values, key } = capability;
      const options = kind === 'enum' ? { device_class: 'enum', options: values ?? [] } : {};
      const measured =
        kind === 'number'
          ? { ...(unit !== undefined && { unit_of_measurement: unit }), state_class: 'measurement' }
          : {};
      const config = {
        platform: entity.kind,
        value_template: valueOf(key),
        ...measured,
        ...options,
        ...classOf(capability),
      };
      return { config, slots: [] };
    }
    case 'button': {
      const { action } = entity.command;
      const config = { platform: 'button', command_topic: commandTopic(action) };
      return { config, slots: [{ slot: slotOf(action), write: oneOf({ PRESS: { action, params: {} } }) }] };
    }
    case 'event': {
      const state_topic = `${root(stationId)}/${deviceId}/event`;
      return { config: { platform: 'event', state_topic, event_types: entity.actions }, slots: [] };
    }
  }
}

type Topics = { commandTopic: Place['commandTopic']; stateTopic: string };

/** Where a colour stands in the state: its numbers with commas, as it is also told. */
const colourKey = ({ mode, end }: Colour): string => `color${end}:${mode}`;

function lightBody(
  { dimmer, white, colour }: Extract<Entity, { kind: 'light' }>,
  { commandTopic, stateTopic }: Topics,
): { config: Config; slots: Slot[] } {
  const slots: Slot[] = [];
  const about = (name: string, key: string): Config => ({
    [`${name}_state_topic`]: stateTopic,
    [`${name}_command_topic`]: commandTopic(key),
    [`${name}_value_template`]: valueOf(key),
  });
  if (dimmer !== null)
    slots.push({ slot: slotOf(dimmer.capability.key), write: (payload) => numberFor(dimmer.set, payload) });
  if (white !== null) slots.push({ slot: slotOf(white.capability.key), write: inMireds(white).callFor });
  if (colour !== null)
    slots.push({ slot: slotOf(colourKey(colour)), write: (payload) => colourCall(colour, payload.split(',')) });
  const config = {
    ...(dimmer !== null && {
      ...about('brightness', dimmer.capability.key),
      brightness_scale: dimmer.capability.max ?? 100,
    }),
    ...(white !== null && { ...about('color_temp', white.capability.key), ...whiteRange(inMireds(white).capability) }),
    ...(colour !== null && about(colour.mode, colourKey(colour))),
  };
  return { config, slots };
}

const whiteRange = ({ min, max }: Capability): Config => ({
  ...(min !== undefined && { min_mireds: Math.ceil(min) }),
  ...(max !== undefined && { max_mireds: Math.floor(max) }),
});

function climateBody(
  { target, current, mode, action }: Extract<Entity, { kind: 'climate' }>['climate'],
  { commandTopic, stateTopic }: Topics,
): { config: Config; slots: Slot[] } {
  const { key, unit, min, max, step } = target.capability;
  const read = (name: string, from: Capability | null, template = 'template'): Config =>
    from === null ? {} : { [`${name}_topic`]: stateTopic, [`${name}_${template}`]: valueOf(from.key) };
  const { values = [], key: modeKey = '' } = mode?.capability ?? {};
  const slots: Slot[] = [{ slot: slotOf(key), write: (payload) => numberFor(target.set, payload) }];
  if (mode !== null) {
    const { action: verb, parameter } = mode.set;
    const give = (text: string): Call => ({ action: verb, params: { [parameter]: text } });
    slots.push({ slot: slotOf(modeKey), write: (text) => (values.includes(text) ? give(text) : null) });
  }
  const config = {
    platform: 'climate',
    temperature_command_topic: commandTopic(key),
    ...read('temperature_state', target.capability),
    ...read('current_temperature', current),
    ...read('mode_state', mode?.capability ?? null),
    ...(mode !== null && { mode_command_topic: commandTopic(modeKey) }),
    // One without a mode heats.
    modes: mode === null ? ['heat'] : values,
    ...read('action', action),
    ...(min !== undefined && { min_temp: min }),
    ...(max !== undefined && { max_temp: max }),
    temp_step: step ?? 0.5,
    temperature_unit: unit === '°F' ? 'F' : 'C',
  };
  return { config, slots };
}

/** What a thermostat does, as Home Assistant calls it; what it does not know is null. */
const climateActions: Readonly<Record<string, string>> = {
  off: 'off',
  idle: 'idle',
  heat: 'heating',
  heating: 'heating',
  cool: 'cooling',
  cooling: 'cooling',
  fan: 'fan',
  fan_only: 'fan',
  dry: 'drying',
  drying: 'drying',
  preheating: 'preheating',
  defrosting: 'defrosting',
};

/** `state_closed: 'CLOSE'`: the first word of the device for each. */
function coverWords({ values = [] }: Capability): Config {
  const words: Record<string, string> = {};
  for (const word of values) {
    const state = coverState(word);
    if (state !== null) words[`state_${state}`] ??= word;
  }
  return words;
}

function settingBody(
  { kind, capability, set }: Extract<Entity, { kind: 'number' | 'select' | 'text' }>,
  commandTopic: Place['commandTopic'],
): { config: Config; slots: Slot[] } {
  const { key, unit, min, max, step, values = [] } = capability;
  const { action, parameter } = set;
  const own = { platform: kind, command_topic: commandTopic(key), value_template: valueOf(key) };
  const slot = (write: Slot['write']): Slot[] => [{ slot: slotOf(key), write }];
  if (kind === 'number') {
    // Its own limits are 1 and 100; it refuses a smaller step.
    const finest = Math.max(0.001, step ?? (set.isWhole ? 1 : 0.01));
    const range = { min: min ?? -1e9, max: max ?? 1e9, step: finest, mode: 'box' };
    const config = {
      ...own,
      ...range,
      ...(unit !== undefined && { unit_of_measurement: unit }),
      ...classOf(capability),
    };
    return { config, slots: slot((payload) => numberFor(set, payload)) };
  }
  const give = (text: string): Call => ({ action, params: { [parameter]: text } });
  if (kind === 'text') return { config: { ...own, max: 255 }, slots: slot(give) };
  return {
    config: { ...own, options: values },
    slots: slot((payload) => (values.includes(payload) ? give(payload) : null)),
  };
}

/** What Home Assistant compares: texts where it wants texts. What is not known is null, which it reads as "unknown". */
export function valuesOf(parts: readonly Part[], state: State): Record<string, unknown> {
  const values: [string, unknown][] = [];
  for (const { entity } of parts) {
    if ('capability' in entity) values.push([entity.capability.key, shownValue(entity.capability, state, entity.kind)]);
    if (entity.kind === 'light') values.push(...lightValues(entity, state));
    if (entity.kind === 'climate')
      for (const capability of capabilitiesOf(entity.climate)) {
        const { action } = entity.climate;
        const value = shownValue(capability, state, 'climate');
        const isAction = capability === action;
        values.push([capability.key, isAction ? (ownValue(climateActions, String(value)) ?? null) : value]);
      }
    if (entity.kind !== 'cover') continue;
    for (const capability of [entity.cover.state, entity.position?.capability ?? null])
      if (capability !== null) values.push([capability.key, shownValue(capability, state, 'cover')]);
  }
  return Object.fromEntries(values);
}

/** What it cannot read as a number it complains of; of an empty text it does not. */
function lightValues({ dimmer, white, colour }: Extract<Entity, { kind: 'light' }>, state: State): [string, unknown][] {
  const number = ({ key }: Capability): number | null => numberOf(ownValue(state, key));
  const values: [string, unknown][] = [];
  // 0 changes no brightness.
  if (dimmer !== null) values.push([dimmer.capability.key, number(dimmer.capability) ?? 0]);
  if (white !== null)
    values.push([white.capability.key, inMireds(white).shownAs(ownValue(state, white.capability.key)) ?? '']);
  if (colour !== null) {
    const parts = colour.parts.map(({ capability }) => number(capability));
    values.push([colourKey(colour), parts.includes(null) ? '' : parts.join(',')]);
  }
  return values;
}

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

function shownValue({ key, kind }: Capability, state: State, as: Entity['kind']): unknown {
  const value = ownValue(state, key);
  if (kind === 'number') return numberOf(value);
  // It would complain of each word that it does not know.
  if (as === 'cover' && coverState(value) === null) return null;
  // Longer ones it does not take.
  if (kind !== 'boolean') return typeof value === 'string' ? value.slice(0, 255) : null;
  if (typeof value !== 'boolean') return null;
  if (as === 'lock') return value ? 'LOCKED' : 'UNLOCKED';
  return value !== (as === 'binary_sensor' && isInverted(key)) ? 'ON' : 'OFF';
}
