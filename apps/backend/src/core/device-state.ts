import { parseObject } from '@station/kit/json';
import { ownValue } from '@station/protocol/own-value';
/** What a device has reported so far, by capability. */
export type State = Readonly<Record<string, unknown>>;

/** Limit of a whole state: each message of a device reads, writes and broadcasts all of it. */
export const maxStateKeys = 256;
/** Size of a state as JSON in UTF-8. */
export const maxStateBytes = 64 * 1024;

/**
 * A full state still takes numbers of about 25 bytes each, so it can grow to this size. It is read whole: cutting it here would lose
 * values silently.
 */
const longestWithNumbers = maxStateBytes + maxStateKeys * 32;

/** A state with more keys is always longer: each needs at least `"":0,`. */
const longestSurelyFew = maxStateKeys * 5;

/**
 * The only way to read a stored state. Unreadable JSON (damaged disk) counts as empty: the device reports its state again.
 * A state from before the limits is cut to what fits.
 */
export const readState = (text: string): State => measured(text).state;

function measured(text: string): { state: State; bytes: number } {
  const state = parse(text);
  if (state === null) return { state: {}, bytes: 2 };
  const bytes = Buffer.byteLength(text);
  if (bytes <= longestSurelyFew) return { state, bytes };
  if (bytes <= longestWithNumbers && Object.keys(state).length <= maxStateKeys) return { state, bytes };
  const fitting = createMergedState();
  fitting.add(state);
  return { state: fitting.state(), bytes: Buffer.byteLength(JSON.stringify(fitting.state())) };
}

function parse(text: string): State | null {
  const value = parseObject(text);
  return Array.isArray(value) ? null : value;
}

export type MergedState = {
  /**
   * Merges a report into the state. It leaves out what does not fit: new capabilities, and values longer than those they replace.
   * A number always fits in place of an existing value.
   * @returns what was taken; the given object itself when nothing was left out.
   */
  add(reported: State): State;
  state(): State;
};

/** @param text the stored state; omitted: nothing was reported yet. */
export function createMergedState(text = '{}'): MergedState {
  let { state, bytes } = measured(text);
  let keys = Object.keys(state).length;

  const take = (key: string, value: unknown): boolean => {
    const isKnown = Object.hasOwn(state, key);
    const growth = isKnown ? sizeOf(value) - sizeOf(ownValue(state, key)) : sizeOf(key) + sizeOf(value) + 2;
    const hasRoom = bytes + growth <= maxStateBytes;
    const fits = isKnown ? hasRoom || growth <= 0 || isBrief(value) : hasRoom && keys < maxStateKeys;
    if (!fits) return false;
    bytes += growth;
    if (!isKnown) keys += 1;
    return true;
  };
  return {
    add: (reported) => {
      const refused = Object.keys(reported).filter((key) => !take(key, ownValue(reported, key)));
      const taken = refused.length === 0 ? reported : without(reported, new Set(refused));
      state = { ...state, ...taken };
      return taken;
    },
    state: () => state,
  };
}

/** Numbers, true, false and null: about 25 bytes at most. */
const isBrief = (value: unknown): boolean => value === null || typeof value === 'number' || typeof value === 'boolean';

/** Size as JSON in UTF-8. Nearly every message has numbers, so they take the fast path. */
const sizeOf = (value: unknown): number =>
  isBrief(value) ? String(value).length : Buffer.byteLength(JSON.stringify(value));

const without = (state: State, keys: ReadonlySet<string>): State =>
  Object.fromEntries(Object.entries(state).filter(([key]) => !keys.has(key)));
