import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../testing/manual-clock.ts';
import { createForeignStations } from './foreign-stations.ts';

test('devices of another station raise a condition with its id, which ends after their silence', (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] });
  const clock = manualClock();
  const told: unknown[] = [];
  using foreign = createForeignStations({
    conditions: { set: (id, holds, details) => void told.push([id, holds, details]) },
    clock,
  });
  for (const externalId of ['lamp-1', 'lamp-2', 'lamp-1']) foreign.seen({ stationId: 'old', externalId });
  const id = 'foreign_station_devices';
  assert.deepEqual(told, [
    [id, true, { stationIds: ['old'], count: 1 }],
    [id, true, { stationIds: ['old'], count: 2 }],
  ]);
  clock.advance(29 * 60_000);
  foreign.seen({ stationId: 'old', externalId: 'lamp-1' });
  clock.advance(29 * 60_000);
  context.mock.timers.tick(60_000);
  assert.deepEqual(told.at(-1), [id, true, { stationIds: ['old'], count: 2 }]);
  clock.advance(60_000);
  context.mock.timers.tick(60_000);
  assert.deepEqual(told.at(-1), [id, false, { stationIds: [], count: 0 }]);
});
