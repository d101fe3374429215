import { useQuery } from '@tanstack/react-query';
import { useCallback, useRef, useSyncExternalStore } from 'react';
import type { AnswerOf, RouteKey, SentTo } from '@station/protocol/routes';
import type { LiveState } from './live.ts';
import { type AnyOptions, type AnySend, type Arguments, asProblem, type Problem } from './request.ts';
import { everySecond } from './second-clock.ts';
import { useServices, useStore } from './services.ts';

/** Data of the station, in the states that a view has to draw. */
export type Reading<T> =
  | { kind: 'loading' }
  | { kind: 'fault'; problem: Problem; retry: () => void; retrying: boolean }
  | { kind: 'shown'; value: T; freshness: Freshness };

export type ReadingOptions<T, Shown = T> = {
  /** The part that the view draws; it is drawn again only when this part is another one. Keep the function the same. */
  select?: (value: T) => Shown;
  /** What is kept of a new answer; all of it when left out. */
  merge?: (known: T | undefined, read: T) => T;
  /** The data comes from the agent, so it is outdated while the backend cannot reach the agent. */
  isFromAgent?: boolean;
  /** The station would refuse it: it is not asked, and stays `loading`. */
  isRefused?: boolean;
  /** Whether the value is changing right now, so that it is read more often. */
  isBusy?: (value: T | undefined) => boolean;
};

type ReadKey = Extract<RouteKey, `GET ${string}`>;

/**
 * Reads a route, and reads it again automatically: often without the socket, rarely with it. It draws the view again when
 * the value or its freshness is another one, never for the time alone.
 */
export function useReading<Route extends ReadKey, Shown = AnswerOf<Route>>(
  key: readonly unknown[],
  route: Route,
  options: ReadingOptions<AnswerOf<Route>, Shown> = {},
  ...sent: Arguments<SentTo<Route>>
): Reading<Shown> {
  type T = AnswerOf<Route>;
  const parts = sent[0] as AnyOptions | undefined;
  const { session, live, queries } = useServices();
  const state = useStore(live.state);
  const { link, silence } = state;
  const { merge, select } = options;
  const agent = options.isFromAgent ? state.agent : true;
  const query = useQuery<T, Problem, Shown>({
    queryKey: key,
    queryFn: async ({ signal }) => {
      const read = (await (session.call as AnySend)(route, { ...parts, signal })) as T;
      return merge ? merge(queries.getQueryData<T>(key), read) : read;
    },
    ...(select && { select }),
    enabled: options.isRefused !== true,
    refetchInterval: ({ state: { data, status } }) =>
      pollEveryMs({ link, agent, busy: options.isBusy?.(data) ?? false, failed: status === 'error' }),
  });
  const failure = useFailure(key, query);
  const freshness = useFreshness(key, { link, agent, silence, failure });
  if (query.data === undefined) {
    if (!failure) return { kind: 'loading' };
    const retry = (): void => void query.refetch();
    return { kind: 'fault', problem: failure, retry, retrying: query.isFetching };
  }
  return { kind: 'shown', value: query.data, freshness };
}

/** The library forgets a failure when it reads again. Here it stays until there is an answer: what is shown of it would flicker. */
function useFailure(
  key: readonly unknown[],
  { error, data }: { error: Problem | null; data: unknown },
): Problem | null {
  const name = JSON.stringify(key);
  const last = useRef<{ name: string; problem: Problem } | null>(null);
  if (error !== null) last.current = { name, problem: asProblem(error) };
  else if (data !== undefined || last.current?.name !== name) last.current = null;
  return last.current?.problem ?? null;
}

/** Whether a read without an answer has failed, also while it is repeated. */
export const hasFailed = (query: { failureCount: number; errorUpdateCount: number }): boolean =>
  query.failureCount + query.errorUpdateCount > 0;

/** The same object until it is another freshness. The time of the read is not among what the query tells: it changes all the time. */
function useFreshness(
  key: readonly unknown[],
  facts: Pick<LiveState, 'link' | 'agent' | 'silence'> & { failure: Problem | null },
): Freshness {
  const { queries } = useServices();
  const last = useRef<Freshness>({ kind: 'connecting' });
  const subscribe = useCallback((listener: () => void) => everySecond(listener), []);
  return useSyncExternalStore(subscribe, () => {
    const readAt = queries.getQueryState(key)?.dataUpdatedAt ?? 0;
    const next = freshnessOf({ ...facts, readAt, now: Date.now() });
    if (!isSameFreshness(last.current, next)) last.current = next;
    return last.current;
  });
}

const isSameFreshness = (one: Freshness, other: Freshness): boolean =>
  one.kind === 'stale' && other.kind === 'stale'
    ? one.because === other.because && one.lastUpdateAt === other.lastUpdateAt
    : one.kind === other.kind;

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
  silence: LiveState['silence'];
  /** When the shown state was read, epoch milliseconds here. */
  readAt: number;
  /** Why the latest read failed; null: it succeeded. */
  failure: Problem | null;
  now: number;
}): Freshness {
  const { link, agent, silence, readAt, failure, now } = facts;
  // An answer to a request since then shows that it is there.
  if (silence !== null && readAt < silence.noticedAt)
    return { kind: 'stale', because: 'no_answer', lastUpdateAt: Math.max(readAt, silence.heardAt) };
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
