import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { LastReceived } from '../mqtt/session-backlog.ts';

/** Another replica's broker session, taken over by this one. */
type TakenSession = AsyncDisposable & {
  isReady(): boolean;
  /** Ends the session, once it is empty. */
  retire(): Promise<boolean>;
};

export type Takeover = AsyncDisposable & {
  /** Called once a second by the leader, with the offline replicas and for how many milliseconds they are offline. */
  check(unreceived: readonly string[]): void;
  /** The replicas whose sessions are taken over here. */
  takenOver(): string[];
  /** This replica is no longer the leader: the next leader takes the sessions over. */
  release(): void;
};

const checkEveryMs = 1_000;
/** A delay: a replica that lost its connection for a moment is back by then. */
const patienceTicks = 2;
/** The owner is back, but the database shows it a moment later. */
const takenPauseMs = 5_000;
/** A replica that is offline this long was taken out of service: its session is emptied and ended. */
const retireAfterMs = 60 * 60 * 1000;

type Entry = { session: TakenSession; sinceMs: number; isRetiring: boolean };

type TakeoverParts = {
  /** Connects as that replica; `onTaken` is to be called when its owner took the session back. */
  open: (replicaId: string, lastReceived: LastReceived, onTaken: () => void) => TakenSession;
  /** Whether this replica's own broker link is ready. */
  mayTakeOver: () => boolean;
  /** A replica was taken out of service. */
  onRetired: (replicaId: string) => Promise<void>;
  clock: Clock;
  logger: BackendLogger;
};

type TakeoverState = TakeoverParts & {
  entries: Map<string, Entry>;
  /** Offline replicas: number of checks in a row, and since when, milliseconds since the epoch. */
  seen: Map<string, { ticks: number; sinceAt: number }>;
  notBefore: Map<string, number>;
  closing: Set<Promise<void>>;
};

/**
 * Takes over the broker sessions of offline replicas. A broker still gives such a session its share of the messages, and keeps those not
 * acknowledged. By the same client id they arrive here, until the owner takes its session back.
 */
export function createTakeover(parts: TakeoverParts): Takeover {
  const state: TakeoverState = {
    ...parts,
    entries: new Map(),
    seen: new Map(),
    notBefore: new Map(),
    closing: new Set(),
  };
  const { entries, seen, closing } = state;
  return {
    takenOver: () => [...entries].filter(([, { session }]) => session.isReady()).map(([id]) => id),
    check: (unreceived) => check(state, unreceived),
    release: () => {
      seen.clear();
      closeAll(state);
    },
    [Symbol.asyncDispose]: async () => {
      closeAll(state);
      await Promise.all(closing);
    },
  };
}

function check(state: TakeoverState, unreceived: readonly string[]): void {
  const { entries, seen, notBefore, clock } = state;
  for (const id of [...entries.keys()]) if (!unreceived.includes(id)) close(state, id);
  for (const id of [...seen.keys()]) if (!unreceived.includes(id)) seen.delete(id);
  const nowMs = clock.monotonic();
  for (const id of unreceived) {
    const { ticks: before = 0, sinceAt = clock.now() } = seen.get(id) ?? {};
    const ticks = before + 1;
    seen.set(id, { ticks, sinceAt });
    const entry = entries.get(id);
    if (entry === undefined) {
      if (ticks >= patienceTicks && state.mayTakeOver() && nowMs >= (notBefore.get(id) ?? 0)) takeOver(state, id);
    } else if (!entry.isRetiring && entry.session.isReady() && nowMs - entry.sinceMs >= retireAfterMs) {
      retire(state, id, entry);
    }
  }
}

function takeOver(state: TakeoverState, id: string): void {
  const { entries, seen, notBefore, clock, logger } = state;
  const onTaken = (): void => {
    notBefore.set(id, clock.monotonic() + takenPauseMs);
    close(state, id);
  };
  const goneAt = (seen.get(id)?.sinceAt ?? clock.now()) - checkEveryMs;
  const session = state.open(id, { sureAt: goneAt - checkEveryMs, goneAt }, onTaken);
  entries.set(id, { session, sinceMs: clock.monotonic(), isRetiring: false });
  logger.event('replica_session_taken_over', { replicaId: id });
}

function retire(state: TakeoverState, id: string, entry: Entry): void {
  const { logger } = state;
  entry.isRetiring = true;
  const retiring = async (): Promise<void> => {
    await entry.session.retire();
    await state.onRetired(id);
    logger.event('replica_retired', { replicaId: id });
  };
  retiring()
    .catch((error: unknown) => {
      logger.failed('retiring a replica', error);
    })
    .finally(() => close(state, id));
}

function closeAll(state: TakeoverState): void {
  for (const id of [...state.entries.keys()]) close(state, id);
}

function close({ entries, closing }: TakeoverState, id: string): void {
  const entry = entries.get(id);
  if (entry === undefined) return;
  entries.delete(id);
  const done = (async () => entry.session[Symbol.asyncDispose]())().finally(() => closing.delete(done));
  closing.add(done);
}
