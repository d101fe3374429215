import { useQuery } from '@tanstack/react-query';
import { type Freshness, freshnessOf, pollEveryMs } from './freshness.ts';
import { asProblem, type Problem } from './problem.ts';
import { useServices, useStore, useTick } from './services.ts';

/** What was read of the station, in the forms a view has to draw. */
export type Reading<T> =
  | { kind: 'loading' }
  | { kind: 'fault'; problem: Problem; retry: () => void; retrying: boolean }
  | { kind: 'shown'; value: T; freshness: Freshness };

/** Reads a path of the API, and reads it again by itself: often without the socket, seldom with it. */
export function useReading<T>(key: readonly unknown[], path: string): Reading<T> {
  const { session, live } = useServices();
  const { link } = useStore(live.state);
  const query = useQuery<T, Problem>({
    queryKey: key,
    queryFn: ({ signal }) => session.call<T>('GET', path, { signal }),
    refetchInterval: ({ state }) => pollEveryMs({ link, agent: true, busy: false, failed: state.status === 'error' }),
  });
  useTick(1_000);
  if (query.data === undefined) {
    if (!query.error) return { kind: 'loading' };
    const retry = (): void => void query.refetch();
    return { kind: 'fault', problem: asProblem(query.error), retry, retrying: query.isFetching };
  }
  const failure = query.error ? asProblem(query.error) : null;
  const freshness = freshnessOf({ link, agent: true, readAt: query.dataUpdatedAt, failure, now: Date.now() });
  return { kind: 'shown', value: query.data, freshness };
}
