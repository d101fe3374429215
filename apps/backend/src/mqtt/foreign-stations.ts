import type { Clock } from '@station/kit/clock';
import { every } from '@station/kit/timers';
import type { BackendConditions } from '../core/conditions.ts';

export type ForeignStations = Disposable & {
  /** A device published under the id of another station. Nothing is answered. */
  seen(from: { stationId: string; externalId: string }): void;
};

/** A device publishes a heartbeat each minute; after this silence the other station is gone. */
const silenceMs = 30 * 60_000;
const checkEveryMs = 60_000;
/** Both are chosen by the sender. */
const maxStations = 10;
const maxDevices = 1_000;

/** Devices whose topics carry the id of another station: STATION_ID was changed, or the database was lost. */
export function createForeignStations(parts: {
  conditions: Pick<BackendConditions, 'set'>;
  clock: Pick<Clock, 'monotonic'>;
}): ForeignStations {
  const { conditions, clock } = parts;
  const stations = new Map<string, { devices: Set<string>; seenMs: number }>();
  const judge = (): void => {
    const count = stations.values().reduce((sum, { devices }) => sum + devices.size, 0);
    conditions.set('foreign_station_devices', stations.size > 0, { stationIds: [...stations.keys()].sort(), count });
  };
  const checking = every(checkEveryMs, () => {
    const nowMs = clock.monotonic();
    for (const [stationId, { seenMs }] of stations) if (nowMs - seenMs >= silenceMs) stations.delete(stationId);
    judge();
  });
  return {
    seen: ({ stationId, externalId }) => {
      const known = stations.get(stationId) ?? { devices: new Set<string>(), seenMs: 0 };
      known.seenMs = clock.monotonic();
      const isNews = !known.devices.has(externalId) && known.devices.size < maxDevices;
      if (!isNews || (!stations.has(stationId) && stations.size >= maxStations)) return;
      stations.set(stationId, known);
      known.devices.add(externalId);
      judge();
    },
    [Symbol.dispose]: () => checking[Symbol.dispose](),
  };
}
