import { numberFrom } from '@station/kit/json';
import type { Capability } from '@station/protocol/device-types';
import { ownValue } from '@station/protocol/own-value';
import type { State } from '../core/device-state.ts';
import {
  type Call,
  type Colour,
  colourCall,
  coverState,
  type Entity,
  inMireds,
  labelOf,
  numberFor,
  type Setting,
  type Settable,
  type Switching,
} from './entities-decide.ts';

/** What a device shows and takes in Zigbee2MQTT's dialect (zigbee2mqtt.io, "Exposes"). */

const access = { published: 1, set: 2, get: 4 } as const;
const shown = access.published | access.get;
const fullBrightness = 254;

export type Property = {
  property: string;
  /** Of the state; null: it is not known. */
  read: (state: State) => unknown;
  write: ((value: unknown) => Call | null) | null;
};

export type Feature = Readonly<Record<string, unknown>>;
export type Exposed = { expose: Feature; properties: readonly Property[] };

const reading =
  ({ key }: Capability, shownAs: (value: unknown) => unknown = (value) => value): Property['read'] =>
  (state) => {
    const value = ownValue(state, key);
    return value === undefined || value === null ? null : shownAs(value);
  };
const unknown = (): null => null;

export function expose(entity: Entity, used: Set<string>): Exposed {
  // A property is one value: the second of a name gets another one.
  const free = (wanted: string): string => {
    let property = wanted;
    for (let number = 2; used.has(property); number += 1) property = `${wanted}_${number}`;
    used.add(property);
    return property;
  };
  switch (entity.kind) {
    case 'light':
    case 'switch':
    case 'lock':
      return switched(entity, free);
    case 'cover':
      return covered(entity, free);
    case 'climate':
      return climate(entity, free);
    case 'number':
    case 'sensor':
    case 'binary_sensor':
    case 'select':
    case 'text':
      return single(entity, free);
    case 'button': {
      const { action, names } = entity.command;
      const property = free(action);
      const write = (value: unknown): Call | null => (value === 'PRESS' ? { action, params: {} } : null);
      return {
        expose: {
          type: 'enum',
          name: action,
          label: labelOf({ key: action, names }),
          property,
          access: access.set,
          values: ['PRESS'],
        },
        properties: [{ property, read: unknown, write }],
      };
    }
    case 'event':
      return {
        expose: {
          type: 'enum',
          name: 'action',
          label: 'Action',
          property: free('action'),
          access: access.published,
          values: entity.actions,
        },
        properties: [],
      };
  }
}

/** The end of an endpoint: `_l1` of `on_l1`. */
const endOf = (key: string): string => key.match(/^(?:on|locked)(_.+)$/)?.[1] ?? '';

function switchedBy({ on, off, toggle }: Switching, [yes, no]: readonly [string, string]) {
  return (value: unknown): Call | null => {
    const text = typeof value === 'string' ? value.toUpperCase() : value;
    if (text === yes || text === true) return on;
    if (text === no || text === false) return off;
    return text === 'TOGGLE' ? toggle : null;
  };
}

function switched(
  entity: Extract<Entity, { kind: 'light' | 'switch' | 'lock' }>,
  free: (wanted: string) => string,
): Exposed {
  const { kind, capability, switching } = entity;
  const { key } = capability;
  const texts = kind === 'lock' ? (['LOCK', 'UNLOCK'] as const) : (['ON', 'OFF'] as const);
  const [yes, no] = texts;
  const isState = /^(on|locked)(_|$)/.test(key);
  const end = endOf(key);
  const property = free(isState ? `state${end}` : key);
  const own: Property = {
    property,
    read: reading(capability, (value) => (typeof value === 'boolean' ? (value ? yes : no) : null)),
    write: switchedBy(switching, texts),
  };
  const state: Feature = {
    type: 'binary',
    name: isState ? 'state' : key,
    label: labelOf(capability),
    property,
    access: shown | access.set,
    value_on: yes,
    value_off: no,
    ...(switching.toggle !== null && { value_toggle: 'TOGGLE' }),
  };
  if (!isState) return { expose: state, properties: [own] };
  const endpoint = end === '' ? {} : { endpoint: end.slice(1) };
  const more = entity.kind === 'light' ? lightValues(entity, free, end) : [];
  const features = [state, ...more.map((one) => one.expose)].map((feature) => ({ ...feature, ...endpoint }));
  return {
    expose: { type: kind, ...endpoint, features },
    properties: [own, ...more.flatMap(({ properties }) => properties)],
  };
}

function lightValues(
  { dimmer, white, colour }: Extract<Entity, { kind: 'light' }>,
  free: (wanted: string) => string,
  end: string,
): Exposed[] {
  return [
    dimmer === null ? null : brightness(dimmer, free(`brightness${end}`)),
    white === null ? null : whiteTemperature(white, free(`color_temp${end}`)),
    colour === null ? null : coloured(colour, free(`color${end}`)),
  ].filter((one) => one !== null);
}

function brightness({ capability: level, set }: Settable, property: string): Exposed {
  const least = level.min ?? 0;
  const span = (level.max ?? 100) - least;
  const feature: Feature = {
    type: 'numeric',
    name: 'brightness',
    label: labelOf(level),
    property,
    access: shown | access.set,
    value_min: 0,
    value_max: fullBrightness,
  };
  const shownAs = (value: unknown): unknown =>
    typeof value === 'number' ? Math.round(((value - least) / span) * fullBrightness) : null;
  const write = (value: unknown): Call | null => {
    const number = numberFrom(value);
    return number === null ? null : numberFor(set, Math.round(least + (number / fullBrightness) * span));
  };
  return { expose: feature, properties: [{ property, read: reading(level, shownAs), write }] };
}

function whiteTemperature(white: Settable, property: string): Exposed {
  const { capability, shownAs, callFor } = inMireds(white);
  const { expose: feature } = numeric(capability, white.set, property, 'color_temp');
  return { expose: feature, properties: [{ property, read: reading(capability, shownAs), write: callFor }] };
}

const colourNames = { hs: ['hue', 'saturation'], xy: ['x', 'y'], rgb: ['r', 'g', 'b'] } as const;

function coloured(colour: Colour, property: string): Exposed {
  const names: readonly string[] = colourNames[colour.mode];
  const features = colour.parts.map(({ capability, set }, index) => {
    const name = names[index] ?? '';
    return numeric(capability, set, name, name).expose;
  });
  const read = (state: State): unknown => {
    const values = colour.parts.map(({ capability }) => ownValue(state, capability.key));
    const isKnown = values.every((value) => typeof value === 'number');
    return isKnown ? Object.fromEntries(names.map((name, index) => [name, values[index]])) : null;
  };
  const write = (value: unknown): Call | null =>
    typeof value === 'object' && value !== null
      ? colourCall(
          colour,
          names.map((name) => ownValue(value as Record<string, unknown>, name)),
        )
      : null;
  return {
    expose: {
      type: 'composite',
      name: `color_${colour.mode}`,
      label: 'Color',
      property,
      access: shown | access.set,
      features,
    },
    properties: [{ property, read, write }],
  };
}

const coverTexts = { open: 'OPEN', opening: 'OPEN', closed: 'CLOSE', closing: 'CLOSE', stopped: 'STOP' } as const;

/** Where it is, or where it moves to. */
function coverText(value: unknown): unknown {
  const state = coverState(value);
  return state === null ? null : coverTexts[state];
}

function covered({ cover, position }: Extract<Entity, { kind: 'cover' }>, free: (wanted: string) => string): Exposed {
  const { open, close, stop, state } = cover;
  const property = free('state');
  const calls: Readonly<Record<string, Call | null>> = { OPEN: open, CLOSE: close, STOP: stop };
  const write = (value: unknown): Call | null =>
    typeof value === 'string' ? (ownValue(calls, value.toUpperCase()) ?? null) : null;
  const values = stop === null ? ['OPEN', 'CLOSE'] : ['OPEN', 'CLOSE', 'STOP'];
  const features: Feature[] = [
    {
      type: 'enum',
      name: 'state',
      label: 'State',
      property,
      access: state === null ? access.set : shown | access.set,
      values,
    },
  ];
  const properties: Property[] = [{ property, read: state === null ? unknown : reading(state, coverText), write }];
  if (position !== null) {
    const { expose: feature, properties: more } = numeric(position.capability, position.set, free('position'));
    features.push({ ...feature, name: 'position' });
    properties.push(...more);
  }
  return { expose: { type: 'cover', features }, properties };
}

/** What programs of this dialect call the values of a thermostat. */
function climate({ climate: parts }: Extract<Entity, { kind: 'climate' }>, free: (wanted: string) => string): Exposed {
  const { target, current, mode, action } = parts;
  const { key } = target.capability;
  const name = key === 'current_heating_setpoint' ? key : 'occupied_heating_setpoint';
  const values = [numeric(target.capability, target.set, free(name), name)];
  if (current !== null) values.push(numeric(current, null, free('local_temperature'), 'local_temperature'));
  if (mode !== null) values.push(single({ kind: 'select', ...mode }, free, 'system_mode'));
  if (action !== null) values.push(single({ kind: 'sensor', capability: action }, free, 'running_state'));
  return {
    expose: { type: 'climate', features: values.map((one) => one.expose) },
    properties: values.flatMap(({ properties }) => properties),
  };
}

/** Names that programs of this dialect know better. */
const otherNames: Readonly<Record<string, string>> = { motion: 'occupancy' };

type Single = Extract<Entity, { kind: 'number' | 'sensor' | 'binary_sensor' | 'select' | 'text' }>;

function single(entity: Single, free: (wanted: string) => string, knownAs?: string): Exposed {
  const { capability } = entity;
  const { key, kind, values = [] } = capability;
  const name = knownAs ?? ownValue(otherNames, key) ?? key;
  const property = free(name);
  const set = 'set' in entity ? entity.set : null;
  if (kind === 'number') return numeric(capability, set, property, name);
  const label = labelOf(capability);
  const given = { name, label, property, access: set === null ? shown : shown | access.set };
  const give = (value: unknown): Call | null =>
    set !== null && typeof value === 'string' && (kind !== 'enum' || values.includes(value))
      ? { action: set.action, params: { [set.parameter]: value } }
      : null;
  const write = set === null ? null : give;
  const properties = [{ property, read: reading(capability), write }];
  if (kind === 'boolean') return { expose: { type: 'binary', ...given, value_on: true, value_off: false }, properties };
  return { expose: kind === 'enum' ? { type: 'enum', ...given, values } : { type: 'text', ...given }, properties };
}

function numeric(capability: Capability, set: Setting | null, property: string, name = capability.key): Exposed {
  const { unit, min, max, step } = capability;
  const limits = { unit, value_min: min, value_max: max, value_step: step };
  const feature = {
    type: 'numeric',
    name,
    label: labelOf(capability),
    property,
    access: set === null ? shown : shown | access.set,
    ...Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)),
  };
  const write = set === null ? null : (value: unknown): Call | null => numberFor(set, value);
  return { expose: feature, properties: [{ property, read: reading(capability), write }] };
}
