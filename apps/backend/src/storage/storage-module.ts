import type { SpaceWatch } from '../core/space.ts';
import { spaceOfPostgres } from '../history/postgres-space.ts';
import { type Module, opened, type Serving } from '../platform/module.ts';
import { type StorageKeeper, startStorageKeeper } from './storage-keeper.ts';

type StorageNeeds = {
  /** Most space of the database with its copies. */
  budgetBytes: number;
  /** Number of reports that wait to be written. */
  waiting: () => number;
  /** Free space of the disk that holds the database. */
  disk: SpaceWatch;
};

export const storageModule: Module<StorageNeeds, null> = {
  open: async ({ host, store, leadership }, { budgetBytes, waiting, disk }) => {
    await using opening = new AsyncDisposableStack();
    const { clock, logger } = host;
    const space = store.space ?? spaceOfPostgres(store.db);
    const keeper = opening.use(startStorageKeeper({ store, space, budgetBytes, waiting, leadership, clock, logger }));
    opening.use(disk.onPressure(keeper));
    return opened(opening.move(), null, { serve: async ({ metrics }) => addGauges(metrics, keeper) });
  },
};

function addGauges(metrics: Serving['metrics'], keeper: StorageKeeper): void {
  const { budgetBytes, usedBytes } = keeper;
  metrics.gauge('station_storage_budget_bytes', 'Most space of the database with its copies.', () => budgetBytes);
  metrics.gauge('station_storage_used_bytes', 'Space of the database with its copies.', usedBytes);
  metrics.counter({
    name: 'station_history_dropped_total',
    help: 'History of devices that was dropped: over the rate of a device, or because the storage was full.',
    labels: ['reason', 'kind'],
    read: () => {
      const { rateEvents, rateValues, sizeEvents, sizeValues } = keeper.dropped();
      return [
        { labels: { reason: 'rate', kind: 'events' }, value: rateEvents },
        { labels: { reason: 'rate', kind: 'values' }, value: rateValues },
        { labels: { reason: 'size', kind: 'events' }, value: sizeEvents },
        { labels: { reason: 'size', kind: 'values' }, value: sizeValues },
      ];
    },
  });
}
