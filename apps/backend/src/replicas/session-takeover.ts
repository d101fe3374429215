import type { Clock } from '@station/kit/clock';
import { describeError } from '@station/kit/station-error';
import type { BackendLogger } from '@station/kit/logger';
import type { LastHeard } from '../mqtt/session-backlog.ts';

/** Another replica's session at the broker, heard by this one. */
export type TakenSession = AsyncDisposable & {
  isReady(): boolean;
  /** Ends the session for good, once nothing comes any more. */
  retire(): Promise<boolean>;
};

export type Takeover = AsyncDisposable & {
  /** Called once a second by the leader, with the replicas that nobody hears and how long they have been seen by none, milliseconds. */
  look(unheard: readonly string[]): void;
  /** Those whose sessions are heard here. */
  takenOver(): string[];
  /** This replica leads no more: whoever does takes them over. */
  release(): void;
};

const lookEveryMs = 1_000;
/** Not at once: a replica that lost its connection for a moment is back by then. */
const patienceTicks = 2;
/** Its owner is back, which the database is told a moment later. */
const takenPauseMs = 5_000;
/** A replica that has been away for so long was taken out of service: its session is emptied and ended. */
const retireAfterMs = 60 * 60 * 1000;

type Entry = { session: TakenSession; sinceMs: number; isRetiring: boolean };

/**
 * Hears the broker sessions of replicas that are away. A broker goes on giving such a session its share of the messages, and keeps what was not
 * acknowledged; under the same client id it all comes here, until the owner takes its session back.
 * @param open connects as that replica; `onTaken` is to be called when its owner took it back.
 * @param mayTakeOver whether this replica itself is heard by the broker.
 */
export function createTakeover(options: {
  open: (replicaId: string, lastHeard: LastHeard, onTaken: () => void) => TakenSession;
  mayTakeOver: () => boolean;
  /** A replica was taken out of service. */
  onRetired: (replicaId: string) => Promise<void>;
  clock: Clock;
  logger: BackendLogger;
}): Takeover {
  const { clock, logger } = options;
  const entries = new Map<string, Entry>();
  /** Unheard now: in how many looks in a row, and since when, milliseconds since the epoch. */
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
    const goneAt = (seen.get(id)?.sinceAt ?? clock.now()) - lookEveryMs;
    const session = options.open(id, { sureAt: goneAt - lookEveryMs, goneAt }, onTaken);
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
    look: (unheard) => {
      for (const id of [...entries.keys()]) if (!unheard.includes(id)) close(id);
      for (const id of [...seen.keys()]) if (!unheard.includes(id)) seen.delete(id);
      const nowMs = clock.monotonic();
      for (const id of unheard) {
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
