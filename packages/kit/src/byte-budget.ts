/** Memory that is held for somebody: a connection, or a request that is arriving. */
export type Holding = {
  bytes: number;
  /** For whom; null: nobody knows yet, and only the limit of all counts. */
  client: string | null;
  /** They have shown no permission. */
  isStranger: boolean;
  /** Whether it still arrives: what has arrived is worked on, and stays. */
  mayEnd(): boolean;
  /** Makes room for others. */
  end(): void;
};

export type ByteBudget = {
  /** @returns what gives the bytes back; null: there is no room, and nothing that may end for it. */
  take(holding: Holding): Disposable | null;
  takenBytes(): number;
};

/**
 * How much memory a program holds for all and for each client. When there is no room, what has been arriving longest ends: somebody who
 * sends a request at once is through before others can push it out. Strangers never push out who has shown a permission.
 */
export function createByteBudget(limits: { all: number; client: number }): ByteBudget {
  /** In the order of arrival. */
  const held = new Set<Holding>();
  const sums = new Map<string | null, number>();
  let taken = 0;

  const sumOf = (client: string | null): number => sums.get(client) ?? 0;
  const count = (client: string | null, bytes: number): void => {
    taken += bytes;
    const sum = sumOf(client) + bytes;
    if (sum > 0) sums.set(client, sum);
    else sums.delete(client);
  };
  const giveBack = (holding: Holding, bytes: number): void => {
    if (held.delete(holding)) count(holding.client, -bytes);
  };
  /** The oldest of the client that holds most, strangers first. */
  const nextToEnd = (among: (holding: Holding) => boolean): Holding | null => {
    let found: Holding | null = null;
    for (const one of held) {
      if (!among(one) || !one.mayEnd()) continue;
      if (found === null || (one.isStranger && !found.isStranger)) found = one;
      else if (one.isStranger === found.isStranger && sumOf(one.client) > sumOf(found.client)) found = one;
    }
    return found;
  };
  const makeRoom = (isFull: () => boolean, among: (holding: Holding) => boolean): boolean => {
    while (isFull()) {
      const ending = nextToEnd(among);
      if (ending === null) return false;
      giveBack(ending, ending.bytes);
      ending.end();
    }
    return true;
  };

  return {
    take: (given) => {
      const holding = { ...given };
      const { bytes, client, isStranger } = holding;
      const isShareTaken = (): boolean => client !== null && sumOf(client) + bytes > limits.client;
      if (!makeRoom(isShareTaken, (other) => other.client === client)) return null;
      if (
        !makeRoom(
          () => taken + bytes > limits.all,
          (other) => other.isStranger || !isStranger,
        )
      )
        return null;
      held.add(holding);
      count(client, bytes);
      return { [Symbol.dispose]: () => giveBack(holding, bytes) };
    },
    takenBytes: () => taken,
  };
}
