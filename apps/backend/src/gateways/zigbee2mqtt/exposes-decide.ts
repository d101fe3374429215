import { ownValue } from '@station/protocol/own-value';
import type { Property } from '../dialect.ts';
import { enumValues, type Feature, type Group, isKey } from '../features-decide.ts';
import { isRecord, plainText, textIn, type Values } from '../foreign-values-decide.ts';

/**
 * Reads the `exposes` of a device (zigbee2mqtt.io, "Exposes"): a tree of features, each with a type, the key of its value, and `access`: 1 published
 * in the state, 2 settable, 4 can be asked for.
 */

const maxFeatures = 512;
const maxDepth = 5;

const groups: readonly string[] = ['light', 'switch', 'lock', 'cover', 'fan', 'climate'];
/** What a lamp of Zigbee calls full. */
const fullBrightness = 254;

/** In the order of the announcement; each value once. What cannot be read is left out. */
export function readExposes(exposes: unknown): Feature[] {
  const found = new Map<string, Feature>();
  const named = new Set<string>();
  const reading: Reading = { found, keys: new Set(), named };
  if (!Array.isArray(exposes)) return [];
  for (const expose of exposes) if (isRecord(expose)) named.add(nameOf(expose));
  readAll(reading, exposes, { path: [], group: null, access: 0, depth: 0, category: null });
  return [...found.values()];
}

type Reading = {
  found: Map<string, Feature>;
  keys: Set<string>;
  /** Names at the top: no value gets one of them in place of its own. */
  named: ReadonlySet<string>;
};

type Place = {
  path: readonly string[];
  group: Group;
  access: number;
  depth: number;
  category: Feature['category'];
};

function readAll(reading: Reading, exposes: unknown, place: Place): void {
  if (!Array.isArray(exposes)) return;
  for (const expose of exposes) {
    if (reading.found.size >= maxFeatures) return;
    if (isRecord(expose)) readOne(reading, expose, place);
  }
}

function readOne(reading: Reading, expose: Values, place: Place): void {
  const { type } = expose;
  const access = typeof expose['access'] === 'number' ? expose['access'] : place.access;
  const category = categoryOf(expose) ?? place.category;
  const inner = { ...place, access, category, depth: place.depth + 1 };
  if (typeof type === 'string' && groups.includes(type) && place.depth < maxDepth) {
    return readAll(reading, expose['features'], { ...inner, group: type as Group });
  }
  const name = nameOf(expose);
  if (name === '') return;
  const path = [...place.path, name];
  const hasFeatures = Array.isArray(expose['features']) && expose['features'].length > 0;
  if (type === 'composite' && hasFeatures && place.depth < maxDepth) {
    return readAll(reading, expose['features'], { ...inner, path });
  }
  addFeature(reading, expose, { ...place, path, access, category });
}

/** The key of the value in a payload. */
const nameOf = (expose: Values): string => textIn(expose, 'property') ?? textIn(expose, 'name') ?? '';

function categoryOf(expose: Values): Feature['category'] {
  const category = textIn(expose, 'category');
  return category === 'config' || category === 'diagnostic' ? category : null;
}

function addFeature(reading: Reading, expose: Values, { path, group, access, category }: Place): void {
  const place = path.join('.');
  const known = reading.found.get(place);
  const isReadable = (access & 1) !== 0;
  const isSettable = (access & 2) !== 0;
  if (known !== undefined) {
    known.property.isReadable ||= isReadable;
    known.property.isSettable ||= isSettable;
    return;
  }
  const name = textIn(expose, 'name') ?? place;
  const key = keyOf(reading, { path, group, name });
  if (key === null) return;
  reading.keys.add(key);
  reading.found.set(place, {
    property: { path, key, isReadable, isSettable, ...kindOf(expose, group, name) },
    group,
    name,
    end: endOf(path.at(-1) ?? '', name),
    part: path.length > 1 ? (path[0] ?? '') : null,
    label: plainText(textIn(expose, 'label') ?? ''),
    unit: plainText(textIn(expose, 'unit') ?? '', 16),
    ...rangeOf(expose, path),
    toggle: expose['value_toggle'],
    category,
  });
}

/** Of an endpoint such as `state_l1`: `_l1`. */
const endOf = (own: string, name: string): string => (own.startsWith(name) ? own.slice(name.length) : `_${own}`);

/** `state` of a lamp is called `on`, and of a lock `locked`, as the station's own types do. */
function keyOf({ keys, named }: Reading, { path, group, name }: Pick<Place, 'path' | 'group'> & { name: string }) {
  const own = path.join('.');
  const isOn = group === 'light' || group === 'switch' || group === 'fan';
  const word = group === 'lock' ? 'locked' : isOn ? 'on' : null;
  const isState = name === 'state' && path.length === 1 && /^state(?:_|$)/.test(own);
  const usual = word !== null && isState ? own.replace('state', word) : own;
  const key = keys.has(usual) || (usual !== own && named.has(usual)) ? own : usual;
  return isKey(key) && !keys.has(key) ? key : null;
}

type Kind = Pick<Extract<Property, { kind: 'boolean' }>, 'kind' | 'on' | 'off'>;
type KindOf =
  | Kind
  | { kind: 'number'; full?: number }
  | { kind: 'enum'; values: unknown[] }
  | { kind: 'text' | 'json' };

function kindOf(expose: Values, group: Group, name: string): KindOf {
  switch (expose['type']) {
    case 'binary':
      return { kind: 'boolean', on: expose['value_on'] ?? true, off: expose['value_off'] ?? false };
    case 'numeric': {
      if (group !== 'light' || name !== 'brightness') return { kind: 'number' };
      const full = expose['value_max'];
      return { kind: 'number', full: typeof full === 'number' && full > 0 ? full : fullBrightness };
    }
    case 'enum': {
      const values = enumValues(expose['values']);
      return values === null ? { kind: 'text' } : { kind: 'enum', values };
    }
    case 'list':
    case 'composite':
      return { kind: 'json' };
    default:
      return { kind: 'text' };
  }
}

/** Of values whose range every device knows, and none announces. */
const usualRanges: ReadonlyMap<string, readonly [number, number]> = new Map([
  ['color.x', [0, 1]],
  ['color.y', [0, 1]],
  ['color.hue', [0, 360]],
  ['color.saturation', [0, 100]],
]);
/** Bounds of a number in a type. */
const largest = 1e15;

function rangeOf(expose: Values, path: readonly string[]): Pick<Feature, 'min' | 'max' | 'step'> {
  const bound = (key: string): number | null => {
    const value = ownValue(expose, key);
    return typeof value === 'number' && Math.abs(value) <= largest ? value : null;
  };
  const [usualMin = null, usualMax = null] =
    usualRanges.get(
      path
        .slice(-2)
        .join('.')
        .replace(/^color_[^.]+/, 'color'),
    ) ?? [];
  const min = bound('value_min') ?? usualMin;
  const max = bound('value_max') ?? usualMax;
  const step = bound('value_step');
  const isRange = min === null || max === null || min < max;
  return { min: isRange ? min : null, max: isRange ? max : null, step: step !== null && step >= 1e-9 ? step : null };
}
