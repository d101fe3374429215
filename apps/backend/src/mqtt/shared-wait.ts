/**
 * Waits for promises of which many in a row are one and the same, as those of messages that are written together: once for all of them,
 * since a promise for each of thousands of messages costs more than the messages themselves.
 * @param onDone called with what waited for one promise, in the order it came.
 * @returns adds what waits for a promise, which never rejects.
 */
export function createSharedWait<T>(onDone: (items: readonly T[]) => void): (promise: Promise<void>, item: T) => void {
  let last: { promise: Promise<void>; items: T[] } | null = null;
  return (promise, item) => {
    if (last?.promise === promise) {
      last.items.push(item);
      return;
    }
    const mine = { promise, items: [item] };
    last = mine;
    void promise.then(() => {
      // Whoever comes with the same promise from now on would come too late.
      if (last === mine) last = null;
      onDone(mine.items);
    });
  };
}
