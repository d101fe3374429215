/** Questions that a power cut decides. Each has several answers; the first one keeps the least data. */
type Question = 'name' | 'content' | 'image' | 'container' | 'pin' | 'engine';

/** Picks one of `options` answers: a number from 0 to `options - 1`. */
export type Choose = (question: Question, options: number) => number;

/** Number of extreme variants. Every crash point is tried with them; the variants above are random. */
export const extremes = 4;

/**
 * Survival variant of a power cut. 0: nothing unsynced survives. 1: everything survives. 2: names and containers
 * survive, contents and images do not. 3: the reverse. From 4 on: random for each item, with the number as the seed.
 */
export function survival(variant: number): Choose {
  const random = createRandom(variant);
  return (question, options) => {
    const isMetadata = question === 'name' || question === 'container' || question === 'pin';
    if (variant === 0) return 0;
    if (variant === 1) return options - 1;
    if (variant === 2) return isMetadata ? options - 1 : 0;
    if (variant === 3) return isMetadata ? 0 : options - 1;
    return Math.floor(random() * options);
  };
}

/** Seeded random numbers in [0, 1): mulberry32, public domain (Tommy Ettinger). */
export function createRandom(seed: number): () => number {
  let state = (seed * 0x9e3779b1) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
