import { isKeyLength } from '@station/protocol/device-messages';
import { isInherited } from '@station/protocol/own-value';
import type { Property } from './dialect.ts';
import { plainText } from './foreign-values-decide.ts';

/** What a feature is part of decides what its `state` means. */
export type Group = 'light' | 'switch' | 'lock' | 'cover' | 'fan' | 'climate' | null;

/** A value, with what is announced about it. */
export type Feature = {
  property: Property;
  group: Group;
  /** Its name without the endpoint, for example `state` of `state_l1`. */
  name: string;
  /** Of an endpoint, for example `_l1`; else empty. */
  end: string;
  /** The composite that it is one value of, such as a colour: one command writes them together. Null: it stands alone. */
  part: string | null;
  label: string | null;
  /** In place of the one of its group. */
  icon?: string;
  /** The class of a boolean, such as `door`, which tells what it says. Undefined: its name does. */
  says?: string;
  /** A person gave the label: it is shown in place of the usual name. */
  isNamed?: boolean;
  /** Its values are names that people gave: a choice, however few there are. */
  isChoice?: boolean;
  unit: string | null;
  min: number | null;
  max: number | null;
  step: number | null;
  /** The value that turns it over; undefined: there is none. */
  toggle: unknown;
  category: 'config' | 'diagnostic' | null;
};

const plain = {
  group: null,
  end: '',
  part: null,
  label: null,
  unit: null,
  min: null,
  max: null,
  step: null,
  toggle: undefined,
  category: null,
} as const;

/** A value, and what is announced about it besides. A range that is none is left out. */
export function featureOf(property: Property, more: Partial<Feature> = {}): Feature {
  const feature = { ...plain, name: property.key, ...more, property };
  const { min, max } = feature;
  return min === null || max === null || min < max ? feature : { ...feature, min: null, max: null };
}

/** Values of an enum that a type may name (contracts, section 8a). */
export const maxValues = 64;

/** Whether it can be a key of a state (contracts, section 8). */
export const isKey = (key: string): boolean =>
  isKeyLength(key) && !isInherited(key) && !key.includes('"') && !key.includes('\\') && plainText(key) === key;

/** Presses of buttons. One that the type does not name, because it has no room, is an event all the same. */
export const actionFeature = (values: readonly string[]): Feature =>
  featureOf({
    path: ['action'],
    key: 'action',
    isReadable: true,
    isSettable: false,
    kind: 'enum',
    values: values.slice(0, maxValues),
  });

/** Null: a type cannot name them all, so the value is a text. */
export function enumValues(values: unknown): unknown[] | null {
  if (!Array.isArray(values) || values.length === 0 || values.length > maxValues) return null;
  // An object may have no text that it can become.
  if (values.some((value) => typeof value === 'object' || value === undefined)) return null;
  const texts = new Set(values.map(String));
  const areGood = [...texts].every((text) => text.length > 0 && text.length <= 64 && plainText(text) === text);
  return areGood && texts.size === values.length ? [...(values as unknown[])] : null;
}
