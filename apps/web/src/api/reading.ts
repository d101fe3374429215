import { replaceEqualDeep, useQuery } from '@tanstack/react-query';
import type { LiveState } from './live.ts';
import { asProblem, type Problem } from './request.ts';
import { useServices, useStore, useTick } from './services.ts';

/** Data of the station, in the states that a view has to draw. */
export type Reading<T> =
  | { kind: 'loading' }
  | { kind: 'fault'; problem: Problem; retry: () => void; retrying: boolean }
  | { kind: 'shown'; value: T; freshness: Freshness };

export type ReadingOptions<T> = {
  /** What is kept of a new answer; TanStack Query's own comparison when left out. */
  merge?: (known: T | undefined, read: T) => T;
  /** The data comes from the agent, so it is outdated while the backend cannot reach the agent. */
  isFromAgent?: boolean;
  /** Whether the value is changing right now, so that it is read more often. */
  isBusy?: (value: T | undefined) => boolean;
};

/** Reads a path of the API, and reads it again automatically: often without the socket, rarely with it. */
export function useReading<T>(key: readonly unknown[], path: string, options: ReadingOptions<T> = {}): Reading<T> {
  const { session, live } = useServices();
  const state = useStore(live.state);
  const { link } = state;
  const { merge } = options;
  const agent = options.isFromAgent ? state.agent : true;
  const query = useQuery<T, Problem>({
    queryKey: key,
    queryFn: ({ signal }) => session.call<T>('GET', path, { signal }),
    ...(merge && {
      structuralSharing: (known: unknown, read: unknown) =>
        replaceEqualDeep(known, merge(known as T | undefined, read as T)),
    }),
    refetchInterval: ({ state: { data, status } }) =>
      pollEveryMs({ link, agent, busy: options.isBusy?.(data) ?? false, failed: status === 'error' }),
  });
  useTick(1_000);
  if (query.data === undefined) {
    if (!query.error) return { kind: 'loading' };
    const retry = (): void => void query.refetch();
    return { kind: 'fault', problem: asProblem(query.error), retry, retrying: query.isFetching };
  }
  const failure = query.error ? asProblem(query.error) : null;
  const freshness = freshnessOf({ link, agent, readAt: query.dataUpdatedAt, failure, now: Date.now() });
  return { kind: 'shown', value: query.data, freshness };
}

/** How up to date the shown data is. */
export type Freshness =
  | { kind: 'connecting' }
  | { kind: 'live' }
  /** No socket, but the station answers polls. */
  | { kind: 'polling' }
  | { kind: 'stale'; because: 'no_answer' | 'agent_silent'; lastUpdateAt: number };

/** Without the socket the page polls every few seconds; without an answer for two polls the data is stale. */
const silentAfterMs = 7_000;
/** The socket reports changes; the page still polls, but rarely. After a phone's sleep this time has passed. */
const asleepAfterMs = 90_000;

export function freshnessOf(facts: {
  link: LiveState['link'];
  /** Whether the backend is connected to the agent. */
  agent: boolean | null;
  /** When the shown state was read, epoch milliseconds here. */
  readAt: number;
  /** Why the latest read failed; null: it succeeded. */
  failure: Problem | null;
  now: number;
}): Freshness {
  const { link, agent, readAt, failure, now } = facts;
  const age = now - readAt;
  if (failure) {
    return {
      kind: 'stale',
      because: failure.code === 'agent_unreachable' ? 'agent_silent' : 'no_answer',
      lastUpdateAt: readAt,
    };
  }
  if (age > (link === 'live' ? asleepAfterMs : silentAfterMs))
    return { kind: 'stale', because: 'no_answer', lastUpdateAt: readAt };
  if (link === 'connecting') return { kind: 'connecting' };
  return link === 'live' && agent !== false ? { kind: 'live' } : { kind: 'polling' };
}

/** Milliseconds until the state is read again. */
export function pollEveryMs(facts: {
  link: LiveState['link'];
  agent: boolean | null;
  busy: boolean;
  failed: boolean;
}): number {
  if (facts.failed) return 2_000;
  if (facts.busy) return 1_000;
  return facts.link === 'live' && facts.agent !== false ? 30_000 : 3_000;
}

/** Runs soon after it is called, and again only `everyMs` later, once for all calls in between. */
export function atMostEvery(everyMs: number, run: () => void): () => void {
  let due: ReturnType<typeof setTimeout> | undefined;
  let last = 0;
  return () => {
    due ??= setTimeout(
      () => {
        due = undefined;
        last = Date.now();
        run();
      },
      Math.max(0, last + everyMs - Date.now()),
    );
  };
}
