/** Addresses that a helper spells in another way than the backend. */
export type Spellings = {
  keep(address: string, writtenAs: string): void;
  /** The address as the helper spells it. */
  of(address: string): string;
};

/** More than there can be candidates; the oldest goes first. */
const mostSpellings = 1_000;

export function createSpellings(): Spellings {
  const spellings = new Map<string, string>();
  return {
    keep: (address, writtenAs) => {
      spellings.delete(address);
      spellings.set(address, writtenAs);
      const [oldest] = spellings.keys();
      if (spellings.size > mostSpellings && oldest !== undefined) spellings.delete(oldest);
    },
    of: (address) => spellings.get(address) ?? address,
  };
}
