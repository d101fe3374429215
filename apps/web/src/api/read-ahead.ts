import type { AnswerOf, RouteKey } from '@station/protocol/routes';
import { snapshotKeys } from '@station/protocol/snapshot';
import type { SessionService } from './session.ts';

type Snapshot = AnswerOf<'GET /api/snapshot'>;

/** The session, in which the next call of each of `snapshotKeys` is answered from one snapshot. */
export type ReadAheadSession = SessionService & {
  /** Reads a snapshot, where one is of use. For what is asked until it is there. */
  readAhead(): void;
};

/** At the log-in the code that asks may still be loading; later than this the answers are not used any more. */
const keepMs = 10_000;

/**
 * Reads ahead as soon as somebody is logged in. What a snapshot leaves out is asked itself, as at a station that has no snapshots.
 * @param isUseful whether what home shows is shown now.
 */
export function withReadAhead(session: SessionService, isUseful: () => boolean): ReadAheadSession {
  const unused = new Set<RouteKey>();
  let snapshot: Promise<Snapshot> = Promise.resolve({});
  const forget = (): void => unused.clear();
  const readAhead = (): void => {
    if (!isUseful()) return;
    snapshot = session.call('GET /api/snapshot').catch(() => ({}));
    for (const key of snapshotKeys) unused.add(key);
  };
  session.state.subscribe(() => {
    forget();
    if (session.state.get().kind !== 'signed_in') return;
    readAhead();
    setTimeout(forget, keepMs);
  });
  const fromSnapshot = async (route: keyof Snapshot, ask: () => Promise<unknown>): Promise<unknown> =>
    (await snapshot)[route] ?? ask();
  return {
    ...session,
    readAhead: () => {
      readAhead();
      void snapshot.finally(forget);
    },
    call: (route, ...options) => {
      const ask = () => session.call(route, ...options);
      return (unused.delete(route) ? fromSnapshot(route as keyof Snapshot, ask) : ask()) as never;
    },
  };
}
