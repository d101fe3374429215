/**
 * Waits once for a promise that many messages in a row share, as the messages of one batch do. A promise for each of thousands of
 * messages would cost more than the messages themselves.
 * @param onDone called with the items that waited for one promise, in order.
 * @returns adds an item that waits for a promise; the promise must never reject.
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
      // An item added to this list from now on would be missed.
      if (last === mine) last = null;
      onDone(mine.items);
    });
  };
}
