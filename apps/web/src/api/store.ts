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

/** Values by key. A listener hears of its own key only. */
export type KeyedStore<T> = {
  get(key: string): T | undefined;
  subscribe(key: string, listener: () => void): () => void;
};

/** @param keyOf unique within a list */
export function createKeyedStore<T>(
  keyOf: (value: T) => string,
): KeyedStore<T> & { replace(values: readonly T[]): void } {
  let values = new Map<string, T>();
  const listeners = new Map<string, Set<() => void>>();
  return {
    get: (key) => values.get(key),
    /** Tells those whose value is another object than before, or gone. */
    replace: (list) => {
      const before = values;
      values = new Map(list.map((value) => [keyOf(value), value]));
      for (const [key, told] of listeners) {
        if (before.get(key) !== values.get(key)) for (const listener of told) listener();
      }
    },
    subscribe: (key, listener) => {
      const told = listeners.get(key) ?? new Set();
      listeners.set(key, told.add(listener));
      return () => {
        told.delete(listener);
        if (told.size === 0 && listeners.get(key) === told) listeners.delete(key);
      };
    },
  };
}
