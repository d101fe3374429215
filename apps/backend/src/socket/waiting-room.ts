/** Who is connected and has not logged in. */
export type WaitingRoom<T> = {
  /** @returns who must go for it: the one that waits longest, of this network or of all. */
  enter(one: T, network: string): T | null;
  leave(one: T): void;
};

/**
 * Keeps room for the next one: somebody who logs in at once is through before others can push them out, however many connect and say
 * nothing.
 */
export function createWaitingRoom<T>(limits: { network: number; all: number }): WaitingRoom<T> {
  /** In the order of arrival. */
  const waiting = new Map<T, string>();
  return {
    enter: (one, network) => {
      const same = [...waiting].filter(([, other]) => other === network).map(([each]) => each);
      const [oldest] = same.length >= limits.network ? same : waiting.size >= limits.all ? waiting.keys() : [];
      if (oldest !== undefined) waiting.delete(oldest);
      waiting.set(one, network);
      return oldest ?? null;
    },
    leave: (one) => void waiting.delete(one),
  };
}
