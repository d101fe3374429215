/** What a device has reported so far, by capability. */
export type State = Readonly<Record<string, unknown>>;

/** Of a whole state: every message of a device reads, writes and tells all of it. */
export const maxStateKeys = 256;
/** As JSON in UTF-8. */
export const maxStateBytes = 256 * 1024;

/**
 * As long as numbers can make a full state: some 25 bytes each, where one was before. All of that is read again: what was left out here
 * would go without a word, and make room for something long.
 */
const longestWithNumbers = maxStateBytes + maxStateKeys * 32;

/** A state with more keys is longer: `"":0,` each, `{}` around them. */
const longestSurelyFew = maxStateKeys * 5;

/**
 * The one way to read a state that is kept as JSON. What a damaged disk has made unreadable is as good as nothing: the device says it anew, and
 * nobody else waits for it. Of one beyond the limits, from before there were any, what fits counts.
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
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as State) : null;
  } catch {
    return null;
  }
}

export type MergedState = {
  /**
   * Merges what is reported over the state. What does not fit is left out: new capabilities when there is no room for them, and values that
   * are longer than the ones they replace; a number has room wherever something is already.
   * @returns what was taken; the given object itself when that is all of it.
   */
  add(reported: State): State;
  state(): State;
};

/** @param text the state before, as it is kept; none: nothing was reported yet. */
export function createMergedState(text = '{}'): MergedState {
  let { state, bytes } = measured(text);
  let keys = Object.keys(state).length;

  const take = (key: string, value: unknown): boolean => {
    const isKnown = Object.hasOwn(state, key);
    const growth = isKnown ? sizeOf(value) - sizeOf(state[key]) : sizeOf(key) + sizeOf(value) + 2;
    const hasRoom = bytes + growth <= maxStateBytes;
    const fits = isKnown ? hasRoom || growth <= 0 || isBrief(value) : hasRoom && keys < maxStateKeys;
    if (!fits) return false;
    bytes += growth;
    if (!isKnown) keys += 1;
    return true;
  };
  return {
    add: (reported) => {
      const refused = Object.keys(reported).filter((key) => !take(key, reported[key]));
      const taken = refused.length === 0 ? reported : without(reported, new Set(refused));
      state = { ...state, ...taken };
      return taken;
    },
    state: () => state,
  };
}

/** Numbers, true, false and null: some 25 bytes at most. */
const isBrief = (value: unknown): boolean => value === null || typeof value === 'number' || typeof value === 'boolean';

/** As JSON in UTF-8; numbers come with nearly every message, and for them this is quick. */
const sizeOf = (value: unknown): number =>
  isBrief(value) ? String(value).length : Buffer.byteLength(JSON.stringify(value));

const without = (state: State, keys: ReadonlySet<string>): State =>
  Object.fromEntries(Object.entries(state).filter(([key]) => !keys.has(key)));
