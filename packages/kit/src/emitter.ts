/** A set of listeners, each called with every value. */
export type Emitter<T> = {
  /** Calls the listeners in the order they came; one that throws does not keep the value from the others. */
  emit(value: T): void;
  /** Calls `listener` with each value until disposed. */
  subscribe(listener: (value: T) => void): Disposable;
  /** How many listen. */
  size(): number;
};

/** @param onError gets what a listener throws. Without it `emit` throws the first error, once every listener was called. */
export function createEmitter<T>(onError?: (error: unknown, value: T) => void): Emitter<T> {
  // Each subscription is its own entry: the same function may listen twice.
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
