/** Admits what comes again and again, in memory that does not grow with what comes once. */
export type RepeatFilter = {
  /**
   * @param nowMs monotonic.
   * @param isKnown it was admitted before, and is kept.
   */
  admits(key: string, nowMs: number, isKnown: boolean): boolean;
};

/** Without a flood everything is admitted at once: so many keys in a window. */
const freePerWindow = 60;
const windowMs = 2_000;
/** One key is not admitted more often than this in a window, whatever it says. */
const mostOfOne = 20;
const mostKeys = 4_000;
/** A Bloom filter of 128 KiB: with 20,000 keys in a window about 1 in 600 others looks like one of them. */
const bits = 2 ** 20;

/**
 * When many keys come, only those are admitted that came in the window before too, or often in this one. A neighbour can make up ten thousand
 * addresses a second, but a device that is there advertises with one.
 */
export function createRepeatFilter(): RepeatFilter {
  let before = new Uint8Array(bits / 8);
  let now = new Uint8Array(bits / 8);
  let startedMs = -Infinity;
  let admitted = 0;
  let counts = new Map<string, number>();
  const turn = (nowMs: number): void => {
    if (nowMs - startedMs < windowMs) return;
    // After a pause there is nothing in the window before.
    const isNext = nowMs - startedMs < 2 * windowMs;
    const oldest = before;
    before = isNext ? now : oldest.fill(0);
    now = isNext ? oldest.fill(0) : now.fill(0);
    startedMs = nowMs;
    admitted = 0;
    counts = new Map();
  };
  const count = (key: string): boolean => {
    const times = counts.get(key) ?? 0;
    if (times === 0 && counts.size >= mostKeys) return false;
    counts.set(key, times + 1);
    return times < mostOfOne;
  };
  return {
    admits: (key, nowMs, isKnown) => {
      turn(nowMs);
      const [first, second] = hashesOf(key);
      const isRepeated = has(before, first) && has(before, second);
      add(now, first);
      add(now, second);
      if (!isKnown && !isRepeated) {
        admitted += 1;
        if (admitted > freePerWindow) return false;
      }
      return count(key);
    },
  };
}

const has = (set: Uint8Array, bit: number): boolean => ((set[bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0;

function add(set: Uint8Array, bit: number): void {
  set[bit >>> 3] = (set[bit >>> 3] ?? 0) | (1 << (bit & 7));
}

/** Two bits of a key, each from an FNV-1a hash of its own. */
function hashesOf(key: string): [number, number] {
  let first = 0x811c9dc5;
  let second = 0x9e3779b9;
  for (let at = 0; at < key.length; at += 1) {
    const code = key.charCodeAt(at);
    first = Math.imul(first ^ code, 0x01000193);
    second = Math.imul(second ^ code, 0x85ebca6b);
  }
  return [(first ^ (first >>> 15)) & (bits - 1), (second ^ (second >>> 13)) & (bits - 1)];
}
