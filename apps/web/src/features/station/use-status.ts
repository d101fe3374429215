import { useMutation, useQuery, type UseMutationResult } from '@tanstack/react-query';
import type { Accepted, CheckResult, Status } from '@station/protocol/agent-api';
import { asProblem, type Problem } from '../../api/problem.ts';
import { useServices, useStore, useTick } from '../../api/use-services.ts';
import { statusKey } from '../../api/follow-agent.ts';
import { freshnessOf, pollEveryMs, type Freshness } from '../../api/freshness.ts';

/** The station's state in the four forms a view has to draw. */
export type StatusView =
  | { kind: 'loading' }
  | { kind: 'fault'; problem: Problem; retry: () => void; retrying: boolean }
  | { kind: 'shown'; status: Status; freshness: Freshness };

export function useStatus(): StatusView {
  const { session, live } = useServices();
  const { link, agent } = useStore(live.state);
  const query = useQuery<Status, Problem>({
    queryKey: statusKey,
    queryFn: ({ signal }) => session.call<Status>('GET', '/api/system/status', { signal }),
    refetchInterval: ({ state }) =>
      pollEveryMs({ link, agent, busy: state.data?.operation != null, failed: state.status === 'error' }),
  });
  useTick(1_000);
  if (!query.data) {
    if (!query.error) return { kind: 'loading' };
    return {
      kind: 'fault',
      problem: asProblem(query.error),
      retry: () => void query.refetch(),
      retrying: query.isFetching,
    };
  }
  const failure = query.error ? asProblem(query.error) : null;
  const freshness = freshnessOf({ link, agent, readAt: query.dataUpdatedAt, failure, now: Date.now() });
  return { kind: 'shown', status: query.data, freshness };
}

type Command<Answer, Input = void> = UseMutationResult<Answer, Problem, Input>;

/** Longer than the backend waits for the agent, which waits for the release server. */
const checkTimeoutMs = 75_000;

/** Asks the release server now. */
export function useCheck(): Command<CheckResult> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: () => session.call('POST', '/api/system/check', { timeoutMs: checkTimeoutMs }),
    onSettled: () => queries.invalidateQueries({ queryKey: statusKey }),
  });
}

/** Starts an update; without a version, to the latest. Resolves once it has started and the status says so. */
export function useUpdate(): Command<Accepted, { version?: string }> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (request) => session.call('POST', '/api/system/update', { body: request }),
    onSettled: () => queries.invalidateQueries({ queryKey: statusKey }),
  });
}

/** Starts going back to the release before. */
export function useRollback(): Command<Accepted> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: () => session.call('POST', '/api/system/rollback'),
    onSettled: () => queries.invalidateQueries({ queryKey: statusKey }),
  });
}
