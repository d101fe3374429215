import { conditions, type ConditionId } from '@station/protocol/conditions';
import type { ConditionStatus } from '@station/protocol/agent-api';
import { isoTime, type Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';

/** Standing conditions of the agent: each is set by the fact behind it, and told when it changes. */
export type Conditions = {
  set(id: ConditionId, holds: boolean): void;
  has(id: ConditionId): boolean;
  list(): ConditionStatus[];
};

export function createConditions(clock: Clock, logger: AgentLogger): Conditions {
  const standing = new Map<ConditionId, string>();
  return {
    set: (id, holds) => {
      if (standing.has(id) === holds) return;
      const { severity, message } = conditions[id];
      if (holds) {
        standing.set(id, isoTime(clock.now()));
        logger.event('condition_raised', { condition: id, severity, message });
      } else {
        standing.delete(id);
        logger.event('condition_cleared', { condition: id });
      }
    },
    has: (id) => standing.has(id),
    list: () =>
      [...standing].map(([id, since]) => ({
        id,
        severity: conditions[id].severity,
        message: conditions[id].message,
        since,
      })),
  };
}
