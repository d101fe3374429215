import type { QueryClient } from '@tanstack/react-query';
import { useQuery } from '@tanstack/react-query';
import type { Operation, OperationPhase, Status } from '@station/protocol/agent-api';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import type { Member } from '@station/protocol/rest';
import type { AgentEvent } from '@station/protocol/socket';
import type { LiveService } from './live.ts';
import { atMostEvery, type Reading, useReading } from './reading.ts';
import { useServices } from './services.ts';

/* Data that several features share: the state of the station and its members. */

export const statusKey = ['system', 'status'] as const;

/** The agent's state of the station. */
export const useStatus = (): Reading<Status> =>
  useReading(statusKey, '/api/system/status', {
    isFromAgent: true,
    isBusy: (status) => status?.operation != null,
  });

/** Whether the backend is being replaced in a phase, so that its silence is expected. */
const silent: Record<OperationPhase, boolean> = {
  preparing: false,
  pulling: false,
  switching: true,
  verifying: true,
  reverting: true,
  verifying_revert: true,
};

const isPhase = (value: unknown): value is OperationPhase => typeof value === 'string' && Object.hasOwn(silent, value);

/** Whether the operation is at a point where the backend itself is being replaced, so that silence is expected. */
export const isSwitching = (operation: Operation | null): boolean => operation !== null && silent[operation.phase];

/** Limit of reads during many events. */
const readEveryMs = 400;

/**
 * Updates the status from the agent's events: a new phase is shown at once, everything else is read again. The status
 * response is authoritative; an event only triggers a new read.
 */
export function followAgent(live: LiveService, queries: QueryClient): void {
  const readSoon = atMostEvery(readEveryMs, () => void queries.invalidateQueries({ queryKey: statusKey }));
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

export const conditionsKey = ['conditions'];
export const unknownDevicesKey = ['unknown-devices'];

/** What is wrong at the backend; empty until it is known. */
export function useBackendConditions(): readonly BackendCondition[] {
  const { session } = useServices();
  const { data } = useQuery({
    queryKey: conditionsKey,
    queryFn: ({ signal }) => session.call<BackendCondition[]>('GET', '/api/conditions', { signal }),
    refetchInterval: 60_000,
  });
  return data ?? none;
}

const none: readonly BackendCondition[] = [];

/** Reads the conditions of the backend, and the unknown devices, when the station says that they changed. */
export function followConditions(live: LiveService, queries: QueryClient): void {
  const readAgain = (): void => {
    for (const queryKey of [conditionsKey, unknownDevicesKey]) void queries.invalidateQueries({ queryKey });
  };
  live.onMessage(({ type }) => {
    if (type === 'hello' || type === 'conditions_changed') readAgain();
  });
}

export const membersKey = ['members'];

/** Who has access to the station. */
export const useMembers = (): Reading<Member[]> => useReading<Member[]>(membersKey, '/api/station/members');
