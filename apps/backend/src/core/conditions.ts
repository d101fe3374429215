import type { Clock } from '@station/kit/clock';
import { createConditions, type StandingCondition } from '@station/kit/conditions';
import type { BackendLogger } from '@station/kit/logger';
import { type BackendConditionId, backendConditions } from '@station/protocol/backend-conditions';

type Details = Readonly<Record<string, unknown>>;
type DetailedCondition = StandingCondition<BackendConditionId> & { details: Details };

/** What is wrong with the station now, for people. Facts set it; each change is logged and told once. */
export type BackendConditions = {
  /** @param details what the catalogue names for this condition. */
  set(id: BackendConditionId, holds: boolean, details?: Details): void;
  list(): DetailedCondition[];
};

export function createBackendConditions(options: {
  clock: Pick<Clock, 'now'>;
  logger: BackendLogger;
  /** A condition was raised or cleared, or its details changed. */
  onChanged: () => void;
}): BackendConditions {
  const { clock, logger, onChanged } = options;
  const details = new Map<BackendConditionId, Details>();
  const conditions = createConditions({
    catalogue: backendConditions,
    clock,
    onRaised: ({ id, severity, message }) => logger.event('condition_raised', { condition: id, severity, message }),
    onCleared: (id) => logger.event('condition_cleared', { condition: id }),
  });
  return {
    set: (id, holds, known = {}) => {
      const isSame =
        conditions.has(id) === holds && (!holds || JSON.stringify(details.get(id)) === JSON.stringify(known));
      if (isSame) return;
      details.set(id, known);
      conditions.set(id, holds);
      onChanged();
    },
    list: () => conditions.list().map((condition) => ({ ...condition, details: { ...details.get(condition.id) } })),
  };
}
