import { isKeyLength } from '@station/protocol/device-messages';
import { isInherited, ownValue, setOwnValue } from '@station/protocol/own-value';
import type { DevicePlan, ForeignReport, Property } from './dialect.ts';
import { isRecord, type Values } from './foreign-values-decide.ts';

/** Payloads of a device as its dialect publishes and takes them, by the plan of its announcement. */

const maxDepth = 6;
const maxKeys = 300;
/** Of a value that is shown as a text. */
const maxText = 4_096;
/** The station knows it itself, and it would be a change with each message. */
const left: readonly string[] = ['last_seen', 'elapsed', 'device'];

/** Whether the station knows a value of this name itself. */
export const isKnownHere = (name: string): boolean => left.includes(name);

/**
 * Values that were announced are what the station's type says; any other one stays as it is, with its path as key.
 * @param payload JSON of an object. Null: it is none.
 * @param only `announced`: any other value is left out.
 */
export function readState(plan: DevicePlan, payload: unknown, only?: 'announced'): ForeignReport | null {
  if (!isRecord(payload)) return null;
  const reading: Reading = {
    byPath: new Map(plan.properties.map((property) => [property.path.join('.'), property])),
    keys: new Set(plan.properties.map(({ key }) => key)),
    state: {},
    count: 0,
    isPlainShown: only === undefined,
  };
  for (const [name, value] of Object.entries(payload)) {
    if (!isKnownHere(name) || reading.byPath.has(name)) readValue(reading, name, value, 0);
  }
  return reportOf(plan, reading.state);
}

/**
 * The values of a message that has some of them.
 * @param valueAt undefined: the message does not have it.
 */
export function readValues(plan: DevicePlan, valueAt: (property: Property) => unknown): ForeignReport {
  const state: Record<string, unknown> = {};
  for (const property of plan.properties.slice(0, maxKeys)) {
    const value = property.isReadable ? valueAt(property) : undefined;
    if (value !== undefined) setOwnValue(state, property.key, valueOf(property, value));
  }
  return reportOf(plan, state);
}

function reportOf({ eventKey }: DevicePlan, state: Readonly<Record<string, unknown>>): ForeignReport {
  const event = eventKey === null ? null : ownValue(state, eventKey);
  return { state, event: typeof event === 'string' && event !== '' && event.length <= 128 ? event : null };
}

type Reading = {
  byPath: ReadonlyMap<string, Property>;
  keys: ReadonlySet<string>;
  state: Record<string, unknown>;
  count: number;
  isPlainShown: boolean;
};

function readValue(reading: Reading, path: string, value: unknown, depth: number): void {
  const property = reading.byPath.get(path);
  const isFlat = property === undefined || property.kind !== 'json';
  if (isRecord(value) && isFlat && depth < maxDepth) {
    for (const [name, inner] of Object.entries(value)) readValue(reading, `${path}.${name}`, inner, depth + 1);
    return;
  }
  if (property !== undefined) return put(reading, property.key, valueOf(property, value));
  // A value that is not announced never takes the place of one that is.
  if (reading.isPlainShown && !reading.keys.has(path)) put(reading, path, shownPlainly(value));
}

function put(reading: Reading, key: string, value: unknown): void {
  if (reading.count >= maxKeys || !isKeyLength(key) || isInherited(key)) return;
  reading.count += 1;
  setOwnValue(reading.state, key, value);
}

function valueOf(property: Property, value: unknown): unknown {
  if (value === null) return null;
  switch (property.kind) {
    case 'boolean':
      if (isSame(value, property.on)) return true;
      return isSame(value, property.off) ? false : shownPlainly(value);
    case 'number':
      return typeof value === 'number' ? numberOf(property, value) : shownPlainly(value);
    case 'enum': {
      const at = property.reads?.indexOf(value) ?? -1;
      if (at >= 0) return shownPlainly(String(property.values[at]));
      return typeof value === 'string' ? shownPlainly(value) : textOf(value);
    }
    case 'text':
    case 'json':
      return property.kind === 'text' && typeof value === 'string' ? shownPlainly(value) : textOf(value);
  }
}

function numberOf({ full, isTurned = false }: Extract<Property, { kind: 'number' }>, value: number): number {
  const shown = full === undefined ? value : percentOf(value, full);
  return isTurned ? 100 - shown : shown;
}

/** A lamp that is on is never at 0 %. */
function percentOf(value: number, full: number): number {
  const percent = Math.round((value / full) * 100);
  return value > 0 ? Math.max(1, percent) : percent;
}

const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (typeof other === 'object' && JSON.stringify(one) === JSON.stringify(other));

/** Scalars as they are; a list or an object as its JSON. */
function shownPlainly(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, maxText).toWellFormed();
  return typeof value === 'object' && value !== null ? textOf(value) : value;
}

const textOf = (value: unknown): string => (JSON.stringify(value) ?? '').slice(0, maxText).toWellFormed();

/**
 * What a command writes, at the paths of the values.
 * @returns null: the device has no such command, or its parameters say nothing.
 */
export function commandPayload(plan: DevicePlan, command: Values): Values | null {
  const { action, commandId: _id, ...params } = command;
  const writes = typeof action === 'string' ? ownValue(plan.actions, action) : undefined;
  if (writes === undefined) return null;
  const payload: Record<string, unknown> = {};
  for (const { path, value } of writes) setPath(payload, path, value);
  for (const property of plan.properties) {
    const value = ownValue(params, property.key);
    if (value === undefined || !property.isSettable) continue;
    setPath(payload, property.set ?? property.path, writtenValue(property, value));
  }
  return Object.keys(payload).length === 0 ? null : payload;
}

function writtenValue(property: Property, value: unknown): unknown {
  switch (property.kind) {
    case 'boolean': {
      const { on, off, writes = [on, off] } = property;
      return writes[value === true ? 0 : 1];
    }
    case 'number':
      return typeof value === 'number' ? writtenNumber(property, value) : value;
    case 'enum': {
      const { values, writes = values } = property;
      const at = values.findIndex((one) => String(one) === value);
      return at < 0 ? value : writes[at];
    }
    case 'text':
      return value;
    case 'json':
      return parsed(value);
  }
}

function writtenNumber({ full, isTurned = false }: Extract<Property, { kind: 'number' }>, value: number): number {
  const turned = isTurned ? 100 - value : value;
  return full === undefined ? turned : Math.round((turned / 100) * full);
}

/** A text that is no JSON stays as it is. */
export function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function setPath(payload: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) return setOwnValue(payload, name, value);
  const known = ownValue(payload, name);
  const inner: Record<string, unknown> = isRecord(known) ? known : {};
  if (inner !== known) setOwnValue(payload, name, inner);
  setPath(inner, rest, value);
}
