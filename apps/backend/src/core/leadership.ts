import { createEmitter } from '@station/kit/emitter';

/** Of several backends, the leader does the work that only one may do. */
export type Leadership = {
  /**
   * False as soon as the database connection that holds the leadership is known to be lost. The loss may be noticed late, so every lasting
   * decision is fenced by the term (see `replicas/term.ts`), or is harmless when two backends make it.
   */
  isLeader(): boolean;
  /** Calls `listener` with each change, until disposed. */
  subscribe(listener: (isLeader: boolean) => void): Disposable;
};

/** For a single backend. */
export const alwaysLeader: Leadership = {
  isLeader: () => true,
  subscribe: () => ({ [Symbol.dispose]: () => undefined }),
};

export type SettableLeadership = Leadership & {
  /** The number of the current term, which grows with each leader; null: not the leader. */
  epoch(): number | null;
  set(epoch: number | null): void;
};

export function createLeadership(): SettableLeadership {
  const changes = createEmitter<boolean>();
  let current: number | null = null;
  return {
    isLeader: () => current !== null,
    epoch: () => current,
    set: (epoch) => {
      const changed = (epoch === null) !== (current === null);
      current = epoch;
      if (changed) changes.emit(epoch !== null);
    },
    subscribe: changes.subscribe,
  };
}
