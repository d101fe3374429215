import type { BackendLogger } from '@station/kit/logger';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { BackendConditions } from '../core/conditions.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { AutomationService } from './automation-service.ts';

export type BrokenWatchParts = {
  service: Pick<AutomationService, 'broken'>;
  conditions: Pick<BackendConditions, 'set'>;
  events: DeviceEvents;
  logger: BackendLogger;
};

/** Checks again after an automation was changed. */
export type BrokenWatch = Disposable & { check(): void };

const namesShown = 20;

/** The condition `automations_broken`: published automations whose devices or commands are gone. */
export function watchBroken({ service, conditions, events, logger }: BrokenWatchParts): BrokenWatch {
  const line = createExclusiveRunner();
  let isWaiting = false;
  const judge = async (): Promise<void> => {
    isWaiting = false;
    const broken = await service.broken();
    const names = broken.slice(0, namesShown).map(({ name }) => name);
    conditions.set('automations_broken', broken.length > 0, { names, count: broken.length });
  };
  const check = (): void => {
    // One that waits sees this change too.
    if (isWaiting) return;
    isWaiting = true;
    line.run(judge).catch((error: unknown) => {
      logger.failed('broken automations', error);
    });
  };
  const subscription = events.subscribe(({ kind }) => {
    if (kind === 'added' || kind === 'changed' || kind === 'removed') check();
  });
  check();
  return { check, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}
