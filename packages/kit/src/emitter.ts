/** A set of listeners, each called with every value. */
export type Emitter<T> = {
  /** Calls the listeners in order of subscription. If one throws, the others are still called. */
  emit(value: T): void;
  /** Calls `listener` with each value until disposed. */
  subscribe(listener: (value: T) => void): Disposable;
  /** Number of listeners. */
  size(): number;
};

/** @param onError receives the errors of listeners. Without it, `emit` throws the first one after all listeners were called. */
export function createEmitter<T>(onError?: (error: unknown, value: T) => void): Emitter<T> {
  // One entry for each subscription, because the same function may subscribe twice.
  const subscriptions = new Set<{ listener: (value: T) => void }>();
  return {
    emit: (value) => {
      const errors: unknown[] = [];
      for (const subscription of [...subscriptions]) {
        if (!subscriptions.has(subscription)) continue;
        try {
          subscription.listener(value);
        } catch (error) {
          if (onError) onError(error, value);
          else errors.push(error);
        }
      }
      if (errors.length > 0) throw errors[0];
    },
    subscribe: (listener) => {
      const subscription = { listener };
      subscriptions.add(subscription);
      return { [Symbol.dispose]: () => void subscriptions.delete(subscription) };
    },
    size: () => subscriptions.size,
  };
}
