import type { QueryClient } from '@tanstack/react-query';
import { useQuery } from '@tanstack/react-query';
import type { Operation, OperationPhase, Status } from '@station/protocol/agent-api';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import type { OperationFile } from '@station/protocol/operation-file';
import type { Member } from '@station/protocol/rest';
import { isLimited } from '@station/protocol/roles';
import type { AgentEvent } from '@station/protocol/socket';
import type { LiveService } from './live.ts';
import { atMostEvery, type Reading, useReading } from './reading.ts';
import { useServices, useUser } from './services.ts';

/* Data that several features share: the state of the station and its members. */

export const statusKey = ['system', 'status'] as const;

/** The agent's state of the station; never known to somebody who sees some zones only. */
export const useStatus = (): Reading<Status> =>
  useReading(statusKey, 'GET /api/system/status', {
    isFromAgent: true,
    isRefused: isLimited(useUser().role),
    isBusy: (status) => status?.operation != null || status?.stack.restart?.endedAt === null,
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

/** How often the agent's file is read while the backend does not answer. */
const fileEveryMs = 1_000;

/**
 * While the backend is silent, its agent tells through the reverse proxy how far an update or a rollback is. A station whose proxy
 * does not serve the file tells nothing.
 */
export function followOperationFile(live: LiveService, queries: QueryClient, read: () => Promise<unknown>): void {
  let timer: ReturnType<typeof setInterval> | undefined;
  const look = async (): Promise<void> => {
    const operation = operationIn(await read().catch(() => null));
    if (timer === undefined || operation === null) return;
    queries.setQueryData<Status>(statusKey, (status) => status && { ...status, operation });
  };
  live.state.subscribe(() => {
    const { link, silence } = live.state.get();
    const isAway = link === 'down' || (link === 'live' && silence !== null);
    if (!isAway) timer = clearInterval(timer) as undefined;
    else timer ??= setInterval(() => void look(), fileEveryMs);
  });
}

/** The operation in the agent's file; null: none, or it is not the file. */
function operationIn(file: unknown): Operation | null {
  if (typeof file !== 'object' || file === null || !('operation' in file)) return null;
  const { operation } = file as OperationFile;
  return isPhase(operation?.phase) ? operation : null;
}

/** The status after an `update_phase` event; anything else leaves it as it was. */
export function withPhase(status: Status, event: AgentEvent): Status {
  const { operation } = status;
  const fields: Readonly<Record<string, unknown>> = event;
  if (event.event !== 'update_phase' || !operation || fields['operationId'] !== operation.id) return status;
  const phase = fields['phase'];
  return isPhase(phase) && phase !== operation.phase ? { ...status, operation: { ...operation, phase } } : status;
}

export const stationKey = ['station'];
export const conditionsKey = ['conditions'];
export const unknownDevicesKey = ['unknown-devices'];

/** What is wrong at the backend; empty until it is known, and for somebody who sees some zones only. */
export function useBackendConditions(): readonly BackendCondition[] {
  const { session } = useServices();
  const { role } = useUser();
  const { data } = useQuery({
    queryKey: conditionsKey,
    queryFn: ({ signal }) => session.call('GET /api/conditions', { signal }),
    enabled: !isLimited(role),
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
export const useMembers = (): Reading<Member[]> => useReading(membersKey, 'GET /api/station/members');
