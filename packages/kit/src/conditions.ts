import { conditions, type ConditionId } from '@station/protocol/conditions';
import { isoTime, type Clock } from './clock.ts';
import type { AgentLogger } from './logger.ts';

export type Severity = 'info' | 'warning' | 'fault';
/** A condition that is raised now. `since` is ISO 8601 in UTC. */
export type StandingCondition<Id extends string> = { id: Id; severity: Severity; message: string; since: string };

/** The conditions of a program. Facts set them; each change is reported once. */
export type Conditions<Id extends string> = {
  /** @param since milliseconds since the epoch; default: now. Only used when the condition is raised. */
  set(id: Id, holds: boolean, since?: number): void;
  has(id: Id): boolean;
  /** In the order in which they were raised. */
  list(): StandingCondition<Id>[];
};

export function createConditions<Id extends string>(options: {
  catalogue: Readonly<Record<Id, { severity: Severity; message: string }>>;
  clock: Pick<Clock, 'now'>;
  onRaised: (condition: StandingCondition<Id>) => void;
  onCleared: (id: Id) => void;
}): Conditions<Id> {
  const { catalogue, clock, onRaised, onCleared } = options;
  const standing = new Map<Id, StandingCondition<Id>>();
  return {
    set: (id, holds, since) => {
      if (standing.has(id) === holds) return;
      if (holds) {
        const { severity, message } = catalogue[id];
        const raised = { id, severity, message, since: isoTime(since ?? clock.now()) };
        standing.set(id, raised);
        onRaised(raised);
      } else {
        standing.delete(id);
        onCleared(id);
      }
    },
    has: (id) => standing.has(id),
    list: () => [...standing.values()],
  };
}

export type AgentConditions = Conditions<ConditionId>;

/** The conditions of the agent; each change is an event. */
export const createAgentConditions = (clock: Pick<Clock, 'now'>, logger: AgentLogger): AgentConditions =>
  createConditions({
    catalogue: conditions,
    clock,
    onRaised: ({ id, severity, message }) => logger.event('condition_raised', { condition: id, severity, message }),
    onCleared: (id) => logger.event('condition_cleared', { condition: id }),
  });
