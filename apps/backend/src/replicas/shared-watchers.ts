import type { Clock } from '@station/kit/clock';
import { createEmitter } from '@station/kit/emitter';
import type { Watchers } from '../core/watchers.ts';
import type { ReplicaMessage } from './fan-out.ts';

/** While clients are connected, this is told again: a replica that stopped or started is noticed within `heldMs`. */
const repeatMs = 10_000;
const heldMs = 35_000;

export type SharedWatchers = Watchers &
  Disposable & {
    /** A message of another replica, or of this one. */
    receive(message: Extract<ReplicaMessage, { kind: 'watched' }>): void;
  };

/** Whether clients are connected to any of the replicas. */
export function createSharedWatchers(parts: {
  id: string;
  local: Watchers;
  publish: (message: ReplicaMessage) => void;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
}): SharedWatchers {
  const { id, local, publish, clock } = parts;
  /** Until when each other replica counts as watched. */
  const others = new Map<string, number>();
  const changes = createEmitter<{ hasJoined: boolean }>();
  const ending = new AbortController();

  const tell = (): void => publish({ kind: 'watched', replicaId: id, isWatched: local.isWatched() });
  const forgetSilent = (): void => {
    const silent = [...others].filter(([, untilMs]) => untilMs <= clock.monotonic());
    for (const [replicaId] of silent) others.delete(replicaId);
    if (silent.length > 0) changes.emit({ hasJoined: false });
  };
  const repeat = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await clock.sleep(repeatMs, ending.signal);
      if (local.isWatched()) tell();
      forgetSilent();
    }
  };
  const listening = local.subscribe((change) => {
    tell();
    changes.emit(change);
  });
  repeat().catch(() => undefined);
  return {
    isWatched: () => local.isWatched() || others.size > 0,
    subscribe: changes.subscribe,
    receive: ({ replicaId, isWatched }) => {
      if (replicaId === id) return;
      const hasJoined = isWatched && !others.has(replicaId);
      const hasChanged = others.has(replicaId) !== isWatched;
      if (isWatched) others.set(replicaId, clock.monotonic() + heldMs);
      else others.delete(replicaId);
      if (hasChanged) changes.emit({ hasJoined });
    },
    [Symbol.dispose]: () => {
      listening[Symbol.dispose]();
      ending.abort();
    },
  };
}
