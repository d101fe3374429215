import { ownValue } from '@station/protocol/own-value';
import { featureOf, type Group } from '../features-decide.ts';
import { textIn, type Values } from '../foreign-values-decide.ts';
import { climate, currentPlaces, placesOf } from './discovery-climate-decide.ts';
import { light } from './discovery-lights-decide.ts';
import { type Announced, templatePath } from './discovery-message-decide.ts';
import {
  categoryOf,
  choice,
  type Draw,
  drawn,
  type Drawn,
  keysOf,
  listIn,
  mainFeature,
  numberIn,
  ordinary,
  ownFeature,
  part,
  sourceOf,
  textsIn,
  waitIn,
  wordIn,
  wordOf,
} from './discovery-values-decide.ts';

const reading = { state: 'state_topic', template: 'value_template' };

const sensor: Draw = (announced) => {
  const { config } = announced;
  const kind = isMeasured(config) ? ({ kind: 'number' } as const) : choice(listIn(config, 'options'));
  return drawn([ownFeature(announced, kind, {}, reading)]);
};

/** Values of these classes are no numbers (home-assistant.io, "Sensor entity", device classes). */
const wordClasses: readonly string[] = ['date', 'enum', 'timestamp'];

function isMeasured(config: Values): boolean {
  const says = textIn(config, 'device_class');
  if (says !== null) return !wordClasses.includes(says);
  const isScaled = ownValue(config, 'suggested_display_precision') !== undefined;
  return isScaled || ['unit_of_measurement', 'state_class'].some((key) => textIn(config, key) !== null);
}

const binarySensor: Draw = (announced) => {
  const { config } = announced;
  const words = { on: wordIn(config, 'payload_on', 'ON'), off: wordIn(config, 'payload_off', 'OFF') };
  const says = textIn(config, 'device_class');
  const offAfterMs = waitIn(config, 'off_delay');
  const kind = { kind: 'boolean' as const, ...words, ...(offAfterMs !== null && { offAfterMs }) };
  return drawn([ownFeature(announced, kind, { ...(says !== null && { says }) }, reading)]);
};

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
  // 0 is off, and part of no range. The speeds are whole numbers.
  const most = max > Math.max(0, min) ? max : null;
  const speed = { ...of, name: 'fan_speed', label: 'Fan speed', min: 0, max: most, step: 1 };
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

const cover: Draw = ({ config, component }, end) => {
  const of = { group: 'cover' as Group, end, ...(component === 'valve' && { icon: 'droplets' }) };
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
    part(
      config,
      { state: 'state_topic', template: 'value_template' },
      { ...of, name: 'movement' },
      {
        kind: 'enum',
        values: words,
        reads: words.map((word) => wordIn(config, `state_${word}`, word)),
      },
    ),
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

/** As a cover. One that reports its position has it at the topics of its state, and takes no words. */
const valve: Draw = (announced, end) => {
  const { config } = announced;
  const { state_topic, value_template, command_topic, ...rest } = config;
  const place = { position_topic: state_topic, position_template: value_template, set_position_topic: command_topic };
  const isPlaced = ownValue(config, 'reports_position') === true;
  const given = isPlaced
    ? { ...rest, ...place }
    : { ...config, payload_stop: ownValue(config, 'payload_stop') ?? null };
  return cover({ ...announced, config: given }, end);
};

const humidifier: Draw = (announced, end) => {
  const { config } = announced;
  const range = { min: numberIn(config, 'min_humidity') ?? 0, max: numberIn(config, 'max_humidity') ?? 100 };
  const target = { end, ...range, unit: '%', name: 'target_humidity', label: 'Target humidity' };
  const modes = choice(listIn(config, 'modes'));
  const number = { kind: 'number' as const };
  return drawn([
    mainFeature(announced, { ...ordinary, template: 'state_value_template' }, 'switch', end),
    part(config, placesOf('target_humidity'), target, number),
    part(config, currentPlaces('humidity'), { end, unit: '%', name: 'humidity' }, number),
    part(config, placesOf('mode'), { end, name: 'mode', label: 'Mode' }, modes),
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
  climate,
  water_heater: climate,
  valve,
  humidifier,
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

const mainKinds: readonly string[] = ['light', 'switch', 'fan', 'humidifier'];
const ownKinds: readonly string[] = ['lock', 'cover', 'climate'];
/** Drawn as another kind, whose keys it has. */
const drawnAs: Readonly<Record<string, string>> = { valve: 'cover', water_heater: 'climate' };

/** What shares its keys with others of its kind, so that each needs an end; null: it has a key of its own. */
export function familyOf({ component, config }: Announced): string | null {
  const kind = ownValue(drawnAs, component) ?? component;
  if (ownKinds.includes(kind)) return kind;
  return mainKinds.includes(component) ? (categoryOf(config) ?? 'main') : null;
}
