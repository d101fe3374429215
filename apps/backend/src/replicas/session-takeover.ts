import type { Clock } from '@station/kit/clock';
import { describeError } from '@station/kit/station-error';
import type { BackendLogger } from '@station/kit/logger';
import type { LastReceived } from '../mqtt/session-backlog.ts';

/** Another replica's broker session, taken over by this one. */
export type TakenSession = AsyncDisposable & {
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

/**
 * Takes over the broker sessions of offline replicas. A broker still gives such a session its share of the messages, and keeps those not
 * acknowledged. By the same client id they arrive here, until the owner takes its session back.
 * @param open connects as that replica; `onTaken` is to be called when its owner took it back.
 * @param mayTakeOver whether this replica's own broker link is ready.
 */
export function createTakeover(options: {
  open: (replicaId: string, lastReceived: LastReceived, onTaken: () => void) => TakenSession;
  mayTakeOver: () => boolean;
  /** A replica was taken out of service. */
  onRetired: (replicaId: string) => Promise<void>;
  clock: Clock;
  logger: BackendLogger;
}): Takeover {
  const { clock, logger } = options;
  const entries = new Map<string, Entry>();
  /** Offline replicas: number of checks in a row, and since when, milliseconds since the epoch. */
  const seen = new Map<string, { ticks: number; sinceAt: number }>();
  const notBefore = new Map<string, number>();
  const closing = new Set<Promise<void>>();

  const close = (id: string): void => {
    const entry = entries.get(id);
    if (entry === undefined) return;
    entries.delete(id);
    const done = (async () => entry.session[Symbol.asyncDispose]())().finally(() => closing.delete(done));
    closing.add(done);
  };
  const takeOver = (id: string): void => {
    const onTaken = (): void => {
      notBefore.set(id, clock.monotonic() + takenPauseMs);
      close(id);
    };
    const goneAt = (seen.get(id)?.sinceAt ?? clock.now()) - checkEveryMs;
    const session = options.open(id, { sureAt: goneAt - checkEveryMs, goneAt }, onTaken);
    entries.set(id, { session, sinceMs: clock.monotonic(), isRetiring: false });
    logger.event('replica_adopted', { replicaId: id });
  };
  const retire = (id: string, entry: Entry): void => {
    entry.isRetiring = true;
    const retiring = async (): Promise<void> => {
      await entry.session.retire();
      await options.onRetired(id);
      logger.event('replica_retired', { replicaId: id });
    };
    retiring()
      .catch((error: unknown) => {
        logger.event('unexpected_error', { where: 'retiring a replica', message: describeError(error) });
      })
      .finally(() => close(id));
  };

  return {
    takenOver: () => [...entries].filter(([, { session }]) => session.isReady()).map(([id]) => id),
    check: (unreceived) => {
      for (const id of [...entries.keys()]) if (!unreceived.includes(id)) close(id);
      for (const id of [...seen.keys()]) if (!unreceived.includes(id)) seen.delete(id);
      const nowMs = clock.monotonic();
      for (const id of unreceived) {
        const { ticks: before = 0, sinceAt = clock.now() } = seen.get(id) ?? {};
        const ticks = before + 1;
        seen.set(id, { ticks, sinceAt });
        const entry = entries.get(id);
        if (entry === undefined) {
          if (ticks >= patienceTicks && options.mayTakeOver() && nowMs >= (notBefore.get(id) ?? 0)) takeOver(id);
        } else if (!entry.isRetiring && entry.session.isReady() && nowMs - entry.sinceMs >= retireAfterMs) {
          retire(id, entry);
        }
      }
    },
    release: () => {
      seen.clear();
      for (const id of [...entries.keys()]) close(id);
    },
    [Symbol.asyncDispose]: async () => {
      for (const id of [...entries.keys()]) close(id);
      await Promise.all(closing);
    },
  };
}
