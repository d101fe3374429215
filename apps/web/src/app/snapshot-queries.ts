import type { QueryClient } from '@tanstack/react-query';
import type { SnapshotKey } from '@station/protocol/snapshot';
import { devicesKey, deviceTypesKey, zonesKey } from '../api/devices.ts';
import { favouritesKey } from '../api/favourites.ts';
import type { ReadAheadSession } from '../api/read-ahead.ts';
import { scenesKey } from '../api/scenes.ts';
import { conditionsKey, stationKey, statusKey, unknownDevicesKey } from '../api/station.ts';
import { cloudStatusKey } from '../features/cloud/follow-cloud.ts';
import { rolloutsKey } from '../features/firmware/follow-firmware.ts';
import { devicesWifiKey } from '../features/settings/follow-wifi.ts';

/** The query of each route. */
const queryKeys: Record<SnapshotKey, readonly unknown[]> = {
  'GET /api/devices': devicesKey,
  'GET /api/device-types': deviceTypesKey,
  'GET /api/zones': zonesKey,
  'GET /api/favourites': favouritesKey,
  'GET /api/scenes': scenesKey,
  'GET /api/station': stationKey,
  'GET /api/system/status': statusKey,
  'GET /api/conditions': conditionsKey,
  'GET /api/cloud/status': cloudStatusKey,
  'GET /api/firmware/rollouts': rolloutsKey,
  'GET /api/unknown-devices': unknownDevicesKey,
  'GET /api/devices/wifi': devicesWifiKey,
};

/** Puts the first snapshot where home looks, so that its first picture has the tiles. What is known already may be newer. */
export function fillQueries(session: ReadAheadSession, queries: QueryClient): void {
  void session.handOver((route, answer) => queries.setQueryData(queryKeys[route], (known: unknown) => known ?? answer));
}
