/** A value that components can watch (the shape that `useSyncExternalStore` needs). */
export type Store<T> = { get(): T; subscribe(listener: () => void): () => void };
export type WritableStore<T> = Store<T> & { set(value: T): void };

export function createStore<T>(initial: T): WritableStore<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set: (next) => {
      if (Object.is(value, next)) return;
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
