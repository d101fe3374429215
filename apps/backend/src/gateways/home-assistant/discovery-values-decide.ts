import { ownValue } from '@station/protocol/own-value';
import { longestWaitMs, type Property } from '../dialect.ts';
import { enumValues, type Feature, featureOf } from '../features-decide.ts';
import { plainText, textIn, type Values } from '../foreign-values-decide.ts';
import { type Announced, templatePath } from './discovery-message-decide.ts';

/** How the keys of an announcement become a value of a device, for every component. */

/** Presses that a component reports: for each word that stands at a place of a topic, what it is called. */
export type Trigger = { topic: string; path: readonly string[]; reads: readonly string[]; values: readonly string[] };

/** What a component is for the station. */
export type Drawn = { features: readonly Feature[]; triggers: readonly Trigger[] };

/** @param end of several of its kind, such as `_left`; empty: it is the only one. */
export type Draw = (announced: Announced, end: string) => Drawn;

/** Where a value is read and written: keys of the announcement. */
type Keys = { state?: string; template?: string; command?: string };

type Source = Pick<Property, 'path' | 'isReadable' | 'isSettable'> & { set?: readonly string[] };

/** Null: it is neither read nor written. */
export function sourceOf(config: Values, { state = '', template = '', command = '' }: Keys): Source | null {
  const from = textIn(config, state);
  const to = textIn(config, command);
  const names = from === null ? [] : (templatePath(textIn(config, template) ?? '') ?? []);
  const place = from ?? to;
  if (place === null) return null;
  const set = to === null ? {} : { set: [to] };
  return { path: [place, ...names], isReadable: from !== null, isSettable: to !== null, ...set };
}

export const ordinary: Keys = { state: 'state_topic', template: 'value_template', command: 'command_topic' };

/** As Home Assistant compares it: `true` of JSON is the text `True`. */
export function wordOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

export const wordIn = (config: Values, key: string, usual: string): string => {
  const value = ownValue(config, key);
  return (value === undefined || value === null ? usual : wordOf(value)).slice(0, 255);
};

export const numberIn = (config: Values, key: string): number | null => {
  const value = ownValue(config, key);
  return typeof value === 'number' && Math.abs(value) <= 1e15 ? value : null;
};

/** Of seconds; milliseconds. Null: it is no time that is waited for. */
export function waitIn(config: Values, key: string): number | null {
  const ms = Math.round((numberIn(config, key) ?? 0) * 1_000);
  return ms >= 1 && ms <= longestWaitMs ? ms : null;
}

export const listIn = (config: Values, key: string): readonly unknown[] => {
  const value = ownValue(config, key);
  return Array.isArray(value) ? value : [];
};

export const textsIn = (config: Values, key: string): string[] =>
  listIn(config, key).filter((value): value is string => typeof value === 'string');

export function categoryOf(config: Values): Feature['category'] {
  const category = textIn(config, 'entity_category');
  return category === 'config' || category === 'diagnostic' ? category : null;
}

export const drawn = (features: readonly (Feature | null)[], triggers: readonly Trigger[] = []): Drawn => ({
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

type Choice = { kind: 'enum'; values: readonly unknown[]; reads?: readonly unknown[] } | { kind: 'text' };

export function choice(values: readonly unknown[]): Choice {
  const named = enumValues(values);
  return named === null ? { kind: 'text' } : { kind: 'enum', values: named };
}

/** The value that a light, a switch or a fan is known by. */
export function mainFeature({ config, label }: Announced, keys: Keys, group: 'light' | 'switch' | 'fan', end: string) {
  const source = sourceOf(config, keys);
  if (source === null) return null;
  const named = end === '' ? null : label;
  return featureOf(
    { ...source, key: `on${end}`, ...switched(config) },
    { group, name: 'state', end, label: named, isNamed: named !== null, category: categoryOf(config) },
  );
}

/** A value beside it, at the same component. */
export function part(
  config: Values,
  keys: Keys,
  { name, end, ...more }: Partial<Feature> & { name: string; end: string },
  kind: Pick<Extract<Property, { kind: 'number' }>, 'kind' | 'full' | 'isTurned'> | Choice | Kind,
): Feature | null {
  const source = sourceOf(config, keys);
  if (source === null) return null;
  return featureOf({ ...source, key: `${name}${end}`, ...kind }, { name, end, ...more });
}

/** Those of a value that has a word of its own, such as `brightness`. */
export const keysOf = (word: string): Keys => ({
  state: `${word}_state_topic`,
  template: `${word}_value_template`,
  command: `${word}_command_topic`,
});

/** A setting or a reading: its own id is its key. */
export function ownFeature(
  { config, id, label }: Announced,
  kind: { kind: 'number' } | Choice | Kind,
  more: Partial<Feature> = {},
  keys: Keys = ordinary,
): Feature | null {
  const source = sourceOf(config, keys);
  if (source === null) return null;
  const unit = plainText(textIn(config, 'unit_of_measurement') ?? '', 16);
  return featureOf({ ...source, key: id, ...kind }, { label, unit, category: categoryOf(config), ...more });
}
