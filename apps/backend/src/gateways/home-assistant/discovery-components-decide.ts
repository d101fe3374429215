import { ownValue } from '@station/protocol/own-value';
import type { Property } from '../dialect.ts';
import { enumValues, type Feature, featureOf, type Group } from '../features-decide.ts';
import { plainText, textIn, type Values } from '../foreign-values-decide.ts';
import { type Announced, templatePath } from './discovery-message-decide.ts';

/** Presses that a component reports: for each word that stands at a place of a topic, what it is called. */
export type Trigger = { topic: string; path: readonly string[]; reads: readonly string[]; values: readonly string[] };

/** What a component is for the station. */
export type Drawn = { features: readonly Feature[]; triggers: readonly Trigger[] };

/** @param end of several of its kind, such as `_left`; empty: it is the only one. */
type Draw = (announced: Announced, end: string) => Drawn;

/** Where a value is read and written: keys of the announcement. */
type Keys = { state?: string; template?: string; command?: string };

type Source = Pick<Property, 'path' | 'isReadable' | 'isSettable'> & { set?: readonly string[] };

/** Null: it is neither read nor written. */
function sourceOf(config: Values, { state = '', template = '', command = '' }: Keys): Source | null {
  const from = textIn(config, state);
  const to = textIn(config, command);
  const names = from === null ? [] : (templatePath(textIn(config, template) ?? '') ?? []);
  const place = from ?? to;
  if (place === null) return null;
  const set = to === null ? {} : { set: [to] };
  return { path: [place, ...names], isReadable: from !== null, isSettable: to !== null, ...set };
}

const ordinary: Keys = { state: 'state_topic', template: 'value_template', command: 'command_topic' };

/** As Home Assistant compares it: `true` of JSON is the text `True`. */
export function wordOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

const wordIn = (config: Values, key: string, usual: string): string => {
  const value = ownValue(config, key);
  return (value === undefined || value === null ? usual : wordOf(value)).slice(0, 255);
};

const numberIn = (config: Values, key: string): number | null => {
  const value = ownValue(config, key);
  return typeof value === 'number' && Math.abs(value) <= 1e15 ? value : null;
};

const listIn = (config: Values, key: string): readonly unknown[] => {
  const value = ownValue(config, key);
  return Array.isArray(value) ? value : [];
};

const textsIn = (config: Values, key: string): string[] =>
  listIn(config, key).filter((value): value is string => typeof value === 'string');

function categoryOf(config: Values): Feature['category'] {
  const category = textIn(config, 'entity_category');
  return category === 'config' || category === 'diagnostic' ? category : null;
}

const drawn = (features: readonly (Feature | null)[], triggers: readonly Trigger[] = []): Drawn => ({
  features: features.filter((feature) => feature !== null),
  triggers,
});

type Kind =
  Extract<Property, { kind: 'boolean' }> extends infer Boolean
    ? Omit<Boolean, 'path' | 'key' | 'isReadable' | 'isSettable' | 'set'>
    : never;

/** On and off. `state_on` is what it says, `payload_on` what it is told. */
function switched(config: Values): Kind {
  const writes = [wordIn(config, 'payload_on', 'ON'), wordIn(config, 'payload_off', 'OFF')];
  const [on = '', off = ''] = writes;
  return { kind: 'boolean', on: wordIn(config, 'state_on', on), off: wordIn(config, 'state_off', off), writes };
}

function choice(values: readonly unknown[]): { kind: 'enum'; values: unknown[] } | { kind: 'text' } {
  const named = enumValues(values);
  return named === null ? { kind: 'text' } : { kind: 'enum', values: named };
}

/** The value that a light, a switch or a fan is known by. */
function mainFeature({ config, label }: Announced, keys: Keys, group: 'light' | 'switch' | 'fan', end: string) {
  const source = sourceOf(config, keys);
  if (source === null) return null;
  const named = end === '' ? null : label;
  return featureOf(
    { ...source, key: `on${end}`, ...switched(config) },
    { group, name: 'state', end, label: named, isNamed: named !== null, category: categoryOf(config) },
  );
}

/** A value beside it, at the same component. */
function part(
  config: Values,
  keys: Keys,
  { name, end, ...more }: Partial<Feature> & { name: string; end: string },
  kind: Pick<Extract<Property, { kind: 'number' }>, 'kind' | 'full' | 'isTurned'> | ReturnType<typeof choice> | Kind,
): Feature | null {
  const source = sourceOf(config, keys);
  if (source === null) return null;
  return featureOf({ ...source, key: `${name}${end}`, ...kind }, { name, end, ...more });
}

const keysOf = (word: string, template = `${word}_value_template`): Keys => ({
  state: `${word}_state_topic`,
  template,
  command: `${word}_command_topic`,
});

/** A setting or a reading: its own id is its key. */
function ownFeature(
  { config, id, label }: Announced,
  kind: { kind: 'number' } | ReturnType<typeof choice> | Kind,
  more: Partial<Feature> = {},
  keys: Keys = ordinary,
): Feature | null {
  const source = sourceOf(config, keys);
  if (source === null) return null;
  const unit = plainText(textIn(config, 'unit_of_measurement') ?? '', 16);
  return featureOf({ ...source, key: id, ...kind }, { label, unit, category: categoryOf(config), ...more });
}

const reading: Keys = { state: 'state_topic', template: 'value_template' };

const sensor: Draw = (announced) => {
  const { config } = announced;
  const isMeasured =
    textIn(config, 'unit_of_measurement') !== null ||
    textIn(config, 'state_class') !== null ||
    ownValue(config, 'suggested_display_precision') !== undefined;
  const kind = isMeasured ? ({ kind: 'number' } as const) : choice(listIn(config, 'options'));
  return drawn([ownFeature(announced, kind, {}, reading)]);
};

const binarySensor: Draw = (announced) => {
  const { config } = announced;
  const words = { on: wordIn(config, 'payload_on', 'ON'), off: wordIn(config, 'payload_off', 'OFF') };
  return drawn([ownFeature(announced, { kind: 'boolean', ...words }, {}, reading)]);
};

const light: Draw = (announced, end) => {
  const { config } = announced;
  const schema = textIn(config, 'schema') ?? 'basic';
  if (schema === 'json') return jsonLight(announced, end);
  if (schema !== 'basic' && schema !== 'default') return drawn([]);
  const of = { group: 'light' as Group, end };
  return drawn([
    mainFeature(announced, { ...ordinary, template: 'state_value_template' }, 'light', end),
    part(config, keysOf('brightness'), { ...of, name: 'brightness' }, { kind: 'number', full: scaleOf(config) }),
    part(config, keysOf('color_temp'), { ...of, name: 'color_temp', ...miredsOf(config) }, { kind: 'number' }),
    part(config, keysOf('rgb'), { ...of, name: 'rgb', label: 'Red, green, blue' }, { kind: 'text' }),
    part(config, keysOf('effect'), { ...of, name: 'effect', label: 'Effect' }, choice(listIn(config, 'effect_list'))),
  ]);
};

function scaleOf(config: Values): number {
  const scale = numberIn(config, 'brightness_scale');
  return scale !== null && scale > 0 ? scale : 255;
}

function miredsOf(config: Values): Pick<Feature, 'unit' | 'min' | 'max'> {
  const isKelvin = ownValue(config, 'color_temp_kelvin') === true;
  const min = numberIn(config, isKelvin ? 'min_kelvin' : 'min_mireds');
  const max = numberIn(config, isKelvin ? 'max_kelvin' : 'max_mireds');
  const isRange = min === null || max === null || min < max;
  return { unit: isKelvin ? 'K' : 'mired', min: isRange ? min : null, max: isRange ? max : null };
}

/** Parts of a colour, by the mode that has them. */
const colourParts: Readonly<Record<string, readonly (readonly [name: string, max: number])[]>> = {
  rgb: [
    ['r', 255],
    ['g', 255],
    ['b', 255],
  ],
  rgbw: [
    ['r', 255],
    ['g', 255],
    ['b', 255],
    ['w', 255],
  ],
  rgbww: [
    ['r', 255],
    ['g', 255],
    ['b', 255],
    ['c', 255],
    ['w', 255],
  ],
  hs: [
    ['h', 360],
    ['s', 100],
  ],
  xy: [
    ['x', 1],
    ['y', 1],
  ],
};

/** One topic has an object of all values: its lamps are told the same way (home-assistant.io, "MQTT Light", "JSON schema"). */
function jsonLight(announced: Announced, end: string): Drawn {
  const { config } = announced;
  const main = mainFeature(announced, { state: 'state_topic', command: 'command_topic' }, 'light', end);
  if (main === null) return drawn([]);
  const { path, set = [], isReadable, isSettable } = main.property;
  const inner = (...names: string[]) => ({
    path: [...path.slice(0, 1), ...names],
    isReadable,
    isSettable,
    ...(isSettable && { set: [...set.slice(0, 1), ...names] }),
  });
  const listed = textsIn(config, 'supported_color_modes');
  const flagged = ['brightness', 'color_temp', ...Object.keys(colourParts)].filter(
    (key) => ownValue(config, key) === true,
  );
  const modes = [...listed, ...flagged];
  const isDimmed = modes.some((mode) => mode !== 'onoff');
  const of = { group: 'light' as Group, end };
  const effects = choice(listIn(config, 'effect_list'));
  // One way to say a colour is enough: the first that has most.
  const mode = ['rgbww', 'rgbw', 'rgb', 'hs', 'xy'].find((one) => modes.includes(one));
  const colour = mode === undefined ? [] : (ownValue(colourParts, mode) ?? []);
  return drawn([
    { ...main, property: { ...inner('state'), key: main.property.key, kind: 'boolean', on: 'ON', off: 'OFF' } },
    isDimmed
      ? featureOf(
          { ...inner('brightness'), key: `brightness${end}`, kind: 'number', full: scaleOf(config) },
          { ...of, name: 'brightness' },
        )
      : null,
    modes.includes('color_temp')
      ? featureOf(
          { ...inner('color_temp'), key: `color_temp${end}`, kind: 'number' },
          { ...of, name: 'color_temp', ...miredsOf(config) },
        )
      : null,
    modes.includes('white')
      ? featureOf(
          { ...inner('white'), key: `white${end}`, kind: 'number' },
          { ...of, name: 'white', label: 'White', min: 0, max: 255 },
        )
      : null,
    ...colour.map(([name, max]) =>
      featureOf(
        { ...inner('color', name), key: `color${end}.${name}`, kind: 'number' },
        { ...of, name, part: `color${end}`, label: name.toUpperCase(), min: 0, max },
      ),
    ),
    ownValue(config, 'effect') === true
      ? featureOf({ ...inner('effect'), key: `effect${end}`, ...effects }, { ...of, name: 'effect', label: 'Effect' })
      : null,
  ]);
}

const fan: Draw = (announced, end) => {
  const { config } = announced;
  const of = { group: 'fan' as Group, end };
  const min = numberIn(config, 'speed_range_min') ?? 1;
  const max = numberIn(config, 'speed_range_max') ?? 100;
  const swings = {
    kind: 'boolean' as const,
    on: wordIn(config, 'payload_oscillation_on', 'oscillate_on'),
    off: wordIn(config, 'payload_oscillation_off', 'oscillate_off'),
  };
  // 0 is off, and part of no range.
  const speed = { ...of, name: 'fan_speed', label: 'Fan speed', min: 0, max: max > Math.max(0, min) ? max : null };
  return drawn([
    mainFeature(announced, { ...ordinary, template: 'state_value_template' }, 'fan', end),
    part(config, keysOf('percentage'), speed, { kind: 'number' }),
    part(config, keysOf('oscillation'), { ...of, name: 'oscillation', label: 'Oscillation' }, swings),
    part(
      config,
      keysOf('direction'),
      { ...of, name: 'direction', label: 'Direction' },
      { kind: 'enum', values: ['forward', 'reverse'] },
    ),
    part(
      config,
      keysOf('preset_mode'),
      { ...of, name: 'preset_mode', label: 'Preset' },
      choice(listIn(config, 'preset_modes')),
    ),
  ]);
};

const lock: Draw = (announced, end) => {
  const { config, label } = announced;
  const source = sourceOf(config, ordinary);
  if (source === null) return drawn([]);
  const on = wordIn(config, 'state_locked', 'LOCKED');
  const off = wordIn(config, 'state_unlocked', 'UNLOCKED');
  const writes = [wordIn(config, 'payload_lock', 'LOCK'), wordIn(config, 'payload_unlock', 'UNLOCK')];
  const named = end === '' ? null : label;
  return drawn([
    featureOf(
      { ...source, key: `locked${end}`, kind: 'boolean', on, off, writes },
      { group: 'lock', name: 'state', end, label: named, isNamed: named !== null },
    ),
  ]);
};

const cover: Draw = ({ config }, end) => {
  const of = { group: 'cover' as Group, end };
  const words = ['open', 'closed', 'opening', 'closing', 'stopped'];
  const moves = [
    ['OPEN', wordIn(config, 'payload_open', 'OPEN')],
    ['CLOSE', wordIn(config, 'payload_close', 'CLOSE')],
    // Null: it cannot stop.
    ...(ownValue(config, 'payload_stop') === null ? [] : [['STOP', wordIn(config, 'payload_stop', 'STOP')]]),
  ];
  const open = numberIn(config, 'position_open') ?? 100;
  const closed = numberIn(config, 'position_closed') ?? 0;
  const isTurned = open === 0 && closed === 100;
  const isPercent = isTurned || (open === 100 && closed === 0);
  const range = isPercent
    ? { unit: '%', min: 0, max: 100 }
    : { min: Math.min(open, closed), max: Math.max(open, closed) };
  const command = textIn(config, 'command_topic');
  return drawn([
    part(
      config,
      { state: 'position_topic', template: 'position_template', command: 'set_position_topic' },
      { ...of, name: 'position', ...(range.min < range.max && range) },
      { kind: 'number', ...(isTurned && { isTurned }) },
    ),
    part(config, { state: 'state_topic', template: 'value_template' }, { ...of, name: 'movement' }, {
      kind: 'enum',
      values: words,
      reads: words.map((word) => wordIn(config, `state_${word}`, word)),
    } as ReturnType<typeof choice>),
    part(
      config,
      { state: 'tilt_status_topic', template: 'tilt_status_template', command: 'tilt_command_topic' },
      { ...of, name: 'tilt', min: numberIn(config, 'tilt_min') ?? 0, max: numberIn(config, 'tilt_max') ?? 100 },
      { kind: 'number' },
    ),
    command === null
      ? null
      : featureOf(
          {
            path: [command],
            set: [command],
            key: `move${end}`,
            isReadable: false,
            isSettable: true,
            kind: 'enum',
            values: moves.map(([word]) => word),
            writes: moves.map(([, payload]) => payload),
          },
          { ...of, name: 'state' },
        ),
  ]);
};

const number: Draw = (announced) => {
  const { config } = announced;
  const min = numberIn(config, 'min') ?? 1;
  const max = numberIn(config, 'max') ?? 100;
  const step = numberIn(config, 'step') ?? 1;
  const range = min < max ? { min, max } : {};
  return drawn([ownFeature(announced, { kind: 'number' }, { ...range, step: step >= 1e-9 ? step : null })]);
};

const select: Draw = (announced) => drawn([ownFeature(announced, choice(listIn(announced.config, 'options')))]);
const text: Draw = (announced) => drawn([ownFeature(announced, { kind: 'text' })]);

const button: Draw = (announced) => {
  const press = wordIn(announced.config, 'payload_press', 'PRESS');
  return drawn([ownFeature(announced, { kind: 'enum', values: [press] }, {}, { command: 'command_topic' })]);
};

/** What its events are called has its own id before it, because a device may have several. */
const event: Draw = ({ config, id }) => {
  const topic = textIn(config, 'state_topic');
  const reads = textsIn(config, 'event_types').slice(0, maxEventTypes);
  const before = templatePath(textIn(config, 'value_template') ?? '') ?? [];
  if (topic === null || reads.length === 0) return drawn([]);
  return drawn(
    [],
    [{ topic, path: [...before, 'event_type'], reads, values: reads.map((type) => actionOf(id, type)) }],
  );
};

const maxEventTypes = 32;

const actionOf = (...words: readonly string[]): string =>
  words
    .join('_')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, 64);

/** A trigger of a device: a payload on a topic, such as `button_1` that is `button_short_press`. */
const deviceTrigger: Draw = ({ config }) => {
  const topic = textIn(config, 'topic');
  const payload = ownValue(config, 'payload');
  const type = textIn(config, 'type') ?? '';
  const subtype = textIn(config, 'subtype') ?? '';
  if (topic === null || payload === undefined || type === '' || subtype === '') return drawn([]);
  const path = templatePath(textIn(config, 'value_template') ?? '') ?? [];
  // "action" says nothing besides.
  const action = type === 'action' ? actionOf(subtype) : actionOf(subtype, type);
  return drawn([], [{ topic, path, reads: [wordOf(payload)], values: [action] }]);
};

/** By the name of the component. Any other one is not supported. */
const components: Readonly<Record<string, Draw>> = {
  sensor,
  binary_sensor: binarySensor,
  switch: (announced, end) => drawn([mainFeature(announced, ordinary, 'switch', end)]),
  light,
  fan,
  lock,
  cover,
  number,
  select,
  text,
  button,
  event,
  device_automation: deviceTrigger,
};

/** Null: the station knows no such component. Without features and triggers: it says too little. */
export const drawComponent = (announced: Announced, end = ''): Drawn | null =>
  ownValue(components, announced.component)?.(announced, end) ?? null;

const mainKinds: readonly string[] = ['light', 'switch', 'fan'];

/** What shares its keys with others of its kind, so that each needs an end; null: it has a key of its own. */
export function familyOf({ component, config }: Announced): string | null {
  if (component === 'lock' || component === 'cover') return component;
  return mainKinds.includes(component) ? (categoryOf(config) ?? 'main') : null;
}
