import { ownValue } from '@station/protocol/own-value';
import { type Feature, featureOf, type Group } from '../features-decide.ts';
import { textIn, type Values } from '../foreign-values-decide.ts';
import type { Announced } from './discovery-message-decide.ts';
import {
  choice,
  type Draw,
  drawn,
  type Drawn,
  keysOf,
  listIn,
  mainFeature,
  numberIn,
  ordinary,
  part,
  textsIn,
} from './discovery-values-decide.ts';

/** Lights, of the schemas `basic` and `json` (home-assistant.io, "MQTT Light"). */

export const light: Draw = (announced, end) => {
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
  return { unit: isKelvin ? 'K' : 'mired', min, max };
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
