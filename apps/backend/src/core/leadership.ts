import { createEmitter } from '@station/kit/emitter';

/** Which one of several backends does what only one may do. */
export type Leadership = {
  /**
   * False at once when the database connection that holds the leadership is known to be gone. It may have gone a moment before: whatever is
   * decided and lasts is therefore fenced (see `fence.ts`), or harms nobody when two do it.
   */
  isLeader(): boolean;
  /** Calls `listener` with each change, until disposed. */
  subscribe(listener: (isLeader: boolean) => void): Disposable;
};

/** Of a backend that is alone. */
export const alwaysLeader: Leadership = {
  isLeader: () => true,
  subscribe: () => ({ [Symbol.dispose]: () => undefined }),
};

export type SettableLeadership = Leadership & {
  /** The number of this term, which grows from leader to leader; null: not the leader. */
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
