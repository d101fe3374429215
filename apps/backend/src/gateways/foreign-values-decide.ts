import { ownValue } from '@station/protocol/own-value';
import { seenForm, turning } from '@station/protocol/text-fields';

/** Values from outside whose form nobody has checked. */

export type Values = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value at a path of names, or of places in a list; undefined: there is none. */
export const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (inner, name) => (typeof inner === 'object' && inner !== null ? ownValue(inner as Values, name) : undefined),
    value,
  );

/** The text under a key; null for any other value, and for an empty text. */
export function textIn(values: Values, key: string): string | null {
  const value = ownValue(values, key);
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Characters that a name must not have: control characters, and those that turn the text around them. */
const odd = new RegExp(`[\\u0000-\\u001f\\u007f${turning}]`, 'g');
const seen = new RegExp(seenForm.pattern, 'u');

/** A text as a name can have it, at most `most` characters; null: nothing is left that is seen. */
export function plainText(text: string, most = 64): string | null {
  const plain = text
    .slice(0, most * 2)
    .replace(odd, '')
    .trim()
    .slice(0, most)
    .toWellFormed();
  return seen.test(plain) ? plain : null;
}
