/** Whether the time of this station is right. Without a clock battery it is not, from the start until NTP answers or a person sets it. */
export type TrustedTime = {
  /** The clock is known to be right. */
  isTrusted(): boolean;
  /**
   * Whether something may be deleted because of its age: the clock is right, and the times of everything that was written before that are
   * corrected.
   */
  areAgesTrue(): boolean;
  /** Times from here on may still be corrected, milliseconds since the epoch; null: none. */
  unsureSince(): number | null;
  /** Calls `listener` with the milliseconds by which the time was just corrected, until disposed. */
  subscribe(listener: (stepMs: number) => void): Disposable;
};

/** For clocks that others keep right, and for tests. */
export const alwaysTrusted: TrustedTime = {
  isTrusted: () => true,
  areAgesTrue: () => true,
  unsureSince: () => null,
  subscribe: () => ({ [Symbol.dispose]: () => undefined }),
};
