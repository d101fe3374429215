import type { SettableLeadership } from '../core/leadership.ts';
import { endHanging, leaderLock, lockClass, unreceivedReplicas } from './locks.ts';
import type { SessionQuery } from './session.ts';
import type { BackendLogger } from '@station/kit/logger';

/** A replica without a query for this long hangs. It would keep its locks and block the cleaning of notifications. */
const hangsAfterMs = 15_000;
export const aliveEveryMs = 5_000;

export type Term = {
  /** The work of each second: shows that the replica is alive, tries to lead, and as leader checks the others. */
  tick(query: SessionQuery): Promise<void>;
  /** The connection, and with it the leadership, is lost. */
  end(): void;
};

type TermParts = {
  replicaId: string;
  leadership: SettableLeadership;
  /** Whether this replica receives messages of devices. */
  isReceiving: () => boolean;
  /** Whether it may lead: not before it is ready. */
  isReady: () => boolean;
  /** Called each second while leading, with the replicas whose broker sessions are not received. */
  onUnreceived: (ids: readonly string[]) => void;
  monotonic: () => number;
  logger: BackendLogger;
};

type TermState = TermParts & {
  /** What the row of this replica holds. */
  reported: { isReceiving: boolean; atMs: number };
  hasReceived: boolean;
};

const notReported = { isReceiving: false, atMs: -Infinity };

export function createTerm(parts: TermParts): Term {
  const { replicaId, leadership, logger } = parts;
  const state: TermState = { ...parts, reported: notReported, hasReceived: false };
  return {
    tick: async (query) => {
      await reportAlive(state, query);
      // Every replica does this, because the hanging one may be the leader.
      await query(endHanging, [hangsAfterMs]);
      if (!leadership.isLeader() && parts.isReady()) await tryToLead(state, query);
      if (!leadership.isLeader()) return;
      const unreceived = await query<{ id: string }>(unreceivedReplicas);
      parts.onUnreceived(unreceived.map(({ id }) => id));
    },
    end: () => {
      state.reported = notReported;
      if (leadership.isLeader()) logger.event('replica_leads_no_more', { replicaId });
      leadership.set(null);
    },
  };
}

async function reportAlive(state: TermState, query: SessionQuery): Promise<void> {
  const { replicaId, reported } = state;
  const isReceiving = state.isReceiving();
  const nowMs = state.monotonic();
  if (reported.isReceiving === isReceiving && nowMs - reported.atMs < aliveEveryMs) return;
  // Until it receives again, the row keeps the time when its session last received.
  const receivedUntilNow = reported.atMs !== -Infinity && state.hasReceived;
  state.hasReceived ||= isReceiving;
  if (!isReceiving && !receivedUntilNow) {
    await query('update replicas set process = pg_backend_pid(), hears = least(hears, 0) where id = $1', [replicaId]);
    return;
  }
  await query(
    `insert into replicas (id, process, hears, seen_at)
     values ($1, pg_backend_pid(), $2, extract(epoch from clock_timestamp()) * 1000)
     on conflict (id) do update set process = excluded.process, hears = excluded.hears, seen_at = excluded.seen_at`,
    [replicaId, isReceiving ? 1 : 0],
  );
  state.reported = { isReceiving, atMs: nowMs };
}

async function tryToLead({ replicaId, leadership, logger }: TermState, query: SessionQuery): Promise<void> {
  const [answer] = await query<{ locked: boolean }>(
    `select pg_try_advisory_lock(${lockClass}, ${leaderLock}) as locked`,
  );
  if (answer?.locked !== true) return;
  // Waits for the last write of the previous leader, which cannot write afterwards.
  const [row] = await query<{ epoch: string }>(
    `insert into leadership (id, epoch, replica_id) values ('leader', 1, $1)
     on conflict (id) do update set epoch = leadership.epoch + 1, replica_id = excluded.replica_id returning epoch`,
    [replicaId],
  );
  const epoch = Number(row?.epoch);
  leadership.set(epoch);
  logger.event('replica_leads', { replicaId, term: epoch });
}
