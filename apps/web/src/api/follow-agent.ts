import type { QueryClient } from '@tanstack/react-query';
import type { Status } from '@station/protocol/agent-api';
import type { AgentEvent } from '@station/protocol/socket';
import type { LiveService } from './live.ts';
import { isPhase } from '../features/station/steps.ts';

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
