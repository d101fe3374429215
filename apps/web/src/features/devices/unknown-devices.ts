import { useQuery } from '@tanstack/react-query';
import type { UnknownDevice } from '@station/protocol/unknown-devices';
import { type Command, useCommand } from '../../api/command.ts';
import { devicesKey } from '../../api/devices.ts';
import { type Reading, useReading } from '../../api/reading.ts';
import { useServices } from '../../api/services.ts';
import { unknownDevicesKey } from '../../api/station.ts';

/** Devices that want to connect and that this station does not have. */
export const useUnknownDevices = (): Reading<readonly UnknownDevice[]> =>
  useReading(unknownDevicesKey, 'GET /api/unknown-devices');

const seldomMs = 60_000;

/** How many wait for a decision; 0 for people who may not decide, and before it is known. */
export function useWaitingCount(mayManage: boolean): number {
  const { session } = useServices();
  const { data } = useQuery({
    queryKey: unknownDevicesKey,
    queryFn: ({ signal }) => session.call('GET /api/unknown-devices', { signal }),
    enabled: mayManage,
    refetchInterval: seldomMs,
  });
  return mayManage && data !== undefined ? waitingOf(data).length : 0;
}

/** Those that somebody has to decide about. */
export const waitingOf = (devices: readonly UnknownDevice[]): UnknownDevice[] =>
  devices.filter(({ blocked, acceptedUntil }) => !blocked && acceptedUntil === null);

/**
 * Adds it to the station, at once or as soon as it logs in again. Takes the name of the device.
 * @param resolveZone its zone, which may have to be created first.
 */
export function useAccept(
  externalId: string,
  resolveZone: () => Promise<string | null>,
): (name: string) => Promise<void> {
  const { session, queries } = useServices();
  return async (name) => {
    const body = { name, zoneId: await resolveZone() };
    try {
      await session.call('POST /api/unknown-devices/:externalId/accept', { params: { externalId }, body });
    } finally {
      for (const queryKey of [unknownDevicesKey, devicesKey]) void queries.invalidateQueries({ queryKey });
    }
  };
}

const routes = {
  block: 'POST /api/unknown-devices/:externalId/block',
  unblock: 'DELETE /api/unknown-devices/:externalId/block',
  forget: 'DELETE /api/unknown-devices/:externalId',
} as const;

export const useDecision = (externalId: string): Command<unknown, keyof typeof routes> =>
  useCommand((session, decision): Promise<unknown> => session.call(routes[decision], { params: { externalId } }), {
    reads: unknownDevicesKey,
  });
