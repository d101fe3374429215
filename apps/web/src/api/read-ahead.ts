import type { AnswerOf, RouteKey } from '@station/protocol/routes';
import { type SnapshotKey, snapshotKeys } from '@station/protocol/snapshot';
import type { SessionService } from './session.ts';

type Snapshot = AnswerOf<'GET /api/snapshot'>;

/** The session, in which calls of `snapshotKeys` are answered from a snapshot that is on its way: each once. */
export type ReadAheadSession = SessionService & {
  /** Reads a snapshot, where one is of use. */
  readAhead(): void;
  /** Gives away the answers of the snapshot of the log-in, when they come: the code that asks may still be loading. */
  handOver(take: (route: SnapshotKey, answer: unknown) => void): Promise<void>;
};

const none: Promise<Snapshot> = Promise.resolve({});

/**
 * Reads ahead as soon as somebody is logged in. What a snapshot leaves out is asked itself, as at a station that has no snapshots.
 * @param isUseful whether what home shows is shown now.
 */
export function withReadAhead(session: SessionService, isUseful: () => boolean): ReadAheadSession {
  const coming = new Set<RouteKey>();
  let snapshot = none;
  const forget = (): void => coming.clear();
  const readAhead = (): void => {
    if (!isUseful()) return;
    snapshot = session.call('GET /api/snapshot').catch(() => ({}));
    for (const key of snapshotKeys) coming.add(key);
    void snapshot.then(forget);
  };
  session.state.subscribe(() => {
    forget();
    snapshot = none;
    if (session.state.get().kind === 'signed_in') readAhead();
  });
  const fromSnapshot = async (route: keyof Snapshot, ask: () => Promise<unknown>): Promise<unknown> =>
    (await snapshot)[route] ?? ask();
  return {
    ...session,
    readAhead,
    handOver: async (take) => {
      const asked = snapshot;
      const answers = await asked;
      // Somebody has left meanwhile, or what was read later is there.
      if (asked !== snapshot) return;
      for (const key of snapshotKeys) if (answers[key] !== undefined) take(key, answers[key]);
    },
    call: (route, ...options) => {
      const ask = () => session.call(route, ...options);
      return (coming.delete(route) ? fromSnapshot(route as keyof Snapshot, ask) : ask()) as never;
    },
  };
}
