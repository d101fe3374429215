/** `update-keys.json`: keys that signed manifests named, as base64 lines. */
export type LearnedKeys = {
  /** The keys of UPDATE_PUBLIC_KEY under which they were learned. */
  configured: readonly string[];
  /** The latest last. */
  learned: readonly string[];
};

/** The latest keys win: a rotation needs two, more are for stations that skip a manifest. */
export const mostLearned = 4;

/** The learned keys that still count: none once the operator has changed UPDATE_PUBLIC_KEY. */
export function stillLearned(stored: LearnedKeys | null, configured: readonly string[]): readonly string[] {
  const isSame = stored !== null && textOf(stored.configured) === textOf(configured);
  return isSame ? stored.learned : [];
}

/** Order and duplicates do not matter. */
const textOf = (keys: readonly string[]): string => [...new Set(keys)].sort().join();

/**
 * The learned keys after a manifest signed by `signer` has named `next`; null when nothing changes. The signer becomes the latest but
 * one, so that naming keys never drops the key in use.
 */
export function learnNext(
  { configured, learned }: LearnedKeys,
  { signer, next }: { signer: string; next: string },
): readonly string[] | null {
  if (configured.includes(next)) return null;
  const inUse = signer !== next && learned.includes(signer) ? [signer] : [];
  const others = learned.filter((key) => key !== signer && key !== next);
  const result = [...others, ...inUse, next].slice(-mostLearned);
  return result.join() === learned.join() ? null : result;
}
