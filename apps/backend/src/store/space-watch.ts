import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { BackendConditions } from '../core/conditions.ts';
import type { DiskSpace, DiskTenant, SpaceWatch } from '../core/space.ts';
import { decideFiller, decideSpace } from './storage-health-decide.ts';

/** Looks often enough that a flood cannot fill the reserve in between; one look costs a system call. */
const lookEveryMs = 10_000;

/** Watches the free space of the disk: raises `storage_low`, which says who takes it, then asks for history to be deleted. */
export function startSpaceWatch(parts: {
  readSpace: () => Promise<DiskSpace | null>;
  conditions: Pick<BackendConditions, 'set'>;
  clock: Pick<Clock, 'sleep'>;
  logger: BackendLogger;
}): SpaceWatch & AsyncDisposable {
  const { readSpace, conditions, clock, logger } = parts;
  const closing = new AbortController();
  const tenants = new Set<DiskTenant>();
  let last: DiskSpace | null = null;
  let isLow = false;
  const look = async (): Promise<void> => {
    last = await readSpace();
    if (last === null) return;
    const decided = decideSpace(last, isLow);
    ({ isLow } = decided);
    const usedBytes = tenants.values().reduce((sum, tenant) => sum + tenant.usedBytes(), 0);
    conditions.set('storage_low', isLow, decideFiller(last, usedBytes));
    for (const tenant of tenants) {
      if (decided.missingBytes > 0) await tenant.relieve(decided.missingBytes, closing.signal);
      if (decided.hasRoom) await tenant.settle();
    }
  };
  const run = async (): Promise<void> => {
    for (;;) {
      await look().catch((error: unknown) => {
        if (!closing.signal.aborted) logger.failed('watching free space', error);
      });
      await clock.sleep(lookEveryMs, closing.signal);
    }
  };
  // Only the sleep rejects, when it is disposed.
  const running = run().catch(() => undefined);
  return {
    space: () => last,
    onPressure: (tenant) => {
      tenants.add(tenant);
      return { [Symbol.dispose]: () => void tenants.delete(tenant) };
    },
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await running;
    },
  };
}
