import { type QueryClient, useQuery } from '@tanstack/react-query';
import type { Operation, OperationPhase, Status } from '@station/protocol/agent-api';
import type { Member } from '@station/protocol/rest';
import type { AgentEvent } from '@station/protocol/socket';
import { type Freshness, freshnessOf, pollEveryMs } from './freshness.ts';
import type { LiveService } from './live.ts';
import { asProblem, type Problem } from './problem.ts';
import { useServices, useStore, useTick } from './services.ts';
import { type Reading, useReading } from './use-reading.ts';

/* Readings that several features share: the state of the station, and who has access to it. */

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

/** Whether the backend is being replaced in a phase, so that its silence is expected. */
const silent: Record<OperationPhase, boolean> = {
  preparing: false,
  pulling: false,
  switching: true,
  verifying: true,
  reverting: true,
  verifying_revert: true,
};

export const isPhase = (value: unknown): value is OperationPhase =>
  typeof value === 'string' && Object.hasOwn(silent, value);

/** Whether the operation is at a point where the backend itself is being replaced, so that silence is expected. */
export const isSwitching = (operation: Operation | null): boolean => operation !== null && silent[operation.phase];

export const statusKey = ['system', 'status'] as const;

/** While events pour in, the status is read at most this often. */
const readEveryMs = 400;

/**
 * Keeps the status in step with what the agent says: a new phase is shown at once, everything else is read again. The status
 * itself stays the one truth; an event only says that there is something to read.
 */
export function followAgent(live: LiveService, queries: QueryClient): void {
  let due: ReturnType<typeof setTimeout> | undefined;
  let lastRead = 0;
  const readSoon = (): void => {
    if (due !== undefined) return;
    due = setTimeout(
      () => {
        due = undefined;
        lastRead = Date.now();
        void queries.invalidateQueries({ queryKey: statusKey });
      },
      Math.max(0, lastRead + readEveryMs - Date.now()),
    );
  };
  live.onMessage((message) => {
    if (message.type === 'hello') readSoon();
    if (message.type === 'agent_link' && message.connected) readSoon();
    if (message.type !== 'agent_event') return;
    const { event } = message;
    queries.setQueryData<Status>(statusKey, (status) => (status ? withPhase(status, event) : status));
    readSoon();
  });
}

/** The status after an `update_phase` event; anything else leaves it as it was. */
export function withPhase(status: Status, event: AgentEvent): Status {
  const { operation } = status;
  const fields: Readonly<Record<string, unknown>> = event;
  if (event.event !== 'update_phase' || !operation || fields['operationId'] !== operation.id) return status;
  const phase = fields['phase'];
  return isPhase(phase) && phase !== operation.phase ? { ...status, operation: { ...operation, phase } } : status;
}

export const membersKey = ['members'];

/** Who has access to the station. */
export const useMembers = (): Reading<Member[]> => useReading<Member[]>(membersKey, '/api/station/members');
