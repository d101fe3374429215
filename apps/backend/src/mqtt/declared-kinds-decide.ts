import type { Capability, DeviceType } from '@station/protocol/device-types';
import { ownValue } from '@station/protocol/own-value';
import { numberOf } from '../core/number-text.ts';

/** Reads a reported state by what the type of its device declares. Many sketches send numbers and switches as text. */

export type DeclaredState = {
  state: Values;
  /** A value is not of its declared kind. */
  isWrong: boolean;
  /** It was left out, because charts and conditions of its kind cannot hold it. */
  isCut: boolean;
};

type Values = Readonly<Record<string, unknown>>;
type Reading = { kind: 'as sent' } | { kind: 'read'; value: unknown } | { kind: 'odd' } | { kind: 'unreadable' };

const asSent = { kind: 'as sent' } as const;
/** A text that an enum does not have: it is shown as the device sends it. */
const odd = { kind: 'odd' } as const;
const unreadable = { kind: 'unreadable' } as const;

/** What the type does not declare stays as it is; so does null, with which a device says that it has no value. */
export function readAsDeclared(state: Values, type: DeviceType | undefined): DeclaredState {
  let read: Map<string, Reading> | null = null;
  for (const capability of type?.capabilities ?? []) {
    const value = ownValue(state, capability.key);
    if (value === undefined || value === null) continue;
    const reading = readValue(value, capability);
    if (reading.kind !== 'as sent') (read ??= new Map()).set(capability.key, reading);
  }
  if (read === null) return { state, isWrong: false, isCut: false };
  const kinds = new Set([...read.values()].map(({ kind }) => kind));
  const kept = Object.entries(state).flatMap(([key, value]): [string, unknown][] => {
    const reading = read.get(key);
    if (reading?.kind === 'unreadable') return [];
    return [[key, reading?.kind === 'read' ? reading.value : value]];
  });
  return {
    state: Object.fromEntries(kept),
    isWrong: kinds.has('odd') || kinds.has('unreadable'),
    isCut: kinds.has('unreadable'),
  };
}

function readValue(value: unknown, { kind, values = [] }: Capability): Reading {
  switch (kind) {
    case 'number':
      return typeof value === 'number' ? asSent : readIf(numberOf(value));
    case 'boolean':
      return typeof value === 'boolean' ? asSent : readIf(switchIn(value));
    case 'text':
      return typeof value === 'string' ? asSent : readIf(textOf(value));
    case 'enum':
      return oneOf(value, values);
  }
}

const readIf = (value: unknown): Reading => (value === null ? unreadable : { kind: 'read', value });

const switchWords: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['on', true],
  ['yes', true],
  ['false', false],
  ['off', false],
  ['no', false],
]);

/** ON and OFF as of Tasmota, "true", "1" and 0 and 1 in every spelling of a number. Null: it is none of them. */
function switchIn(value: unknown): boolean | null {
  if (typeof value === 'string') {
    const word = switchWords.get(value.trim().toLowerCase());
    if (word !== undefined) return word;
  }
  const number = numberOf(value);
  if (number === 1) return true;
  return number === 0 ? false : null;
}

const textOf = (value: unknown): string | null =>
  typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;

/** A value in other capitals, or with blanks around it, is that value when no other one is meant. */
function oneOf(value: unknown, values: readonly string[]): Reading {
  const text = typeof value === 'string' ? value : textOf(value);
  if (text === null) return unreadable;
  if (values.includes(text)) return text === value ? asSent : { kind: 'read', value: text };
  const plain = plainly(text);
  const [meant, ...others] = values.filter((one) => plainly(one) === plain);
  if (meant !== undefined && others.length === 0) return { kind: 'read', value: meant };
  return odd;
}

const plainly = (text: string): string => text.trim().toLowerCase();
