import { useMutation, type UseMutationResult, useQuery } from '@tanstack/react-query';
import type { Device } from '@station/protocol/devices';
import type { AcceptUnknownDevice, UnknownDevice } from '@station/protocol/unknown-devices';
import { devicesKey } from '../../api/devices.ts';
import { type Reading, useReading } from '../../api/reading.ts';
import type { Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { unknownDevicesKey } from '../../api/station.ts';

const path = '/api/unknown-devices';

/** Devices that want to connect and that this station does not have. */
export const useUnknownDevices = (): Reading<readonly UnknownDevice[]> =>
  useReading<readonly UnknownDevice[]>(unknownDevicesKey, path);

const seldomMs = 60_000;

/** How many wait for a decision; 0 for people who may not decide, and before it is known. */
export function useWaitingCount(mayManage: boolean): number {
  const { session } = useServices();
  const { data } = useQuery({
    queryKey: unknownDevicesKey,
    queryFn: ({ signal }) => session.call<UnknownDevice[]>('GET', path, { signal }),
    enabled: mayManage,
    refetchInterval: seldomMs,
  });
  return mayManage && data !== undefined ? waitingOf(data).length : 0;
}

/** Those that somebody has to decide about. */
export const waitingOf = (devices: readonly UnknownDevice[]): UnknownDevice[] =>
  devices.filter(({ blocked, acceptedUntil }) => !blocked && acceptedUntil === null);

type Command<Input = void> = UseMutationResult<unknown, Problem, Input>;

/** Adds it to the station, at once or as soon as it logs in again. */
export function useAccept(externalId: string): Command<AcceptUnknownDevice> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (body: AcceptUnknownDevice) =>
      session.call<Device | UnknownDevice>('POST', `${pathOf(externalId)}/accept`, { body }),
    onSettled: () =>
      Promise.all(
        [unknownDevicesKey, devicesKey].map((queryKey) => queries.invalidateQueries({ queryKey: [...queryKey] })),
      ),
  });
}

const methods = { block: ['POST', '/block'], unblock: ['DELETE', '/block'], forget: ['DELETE', ''] } as const;

export function useDecision(externalId: string): Command<keyof typeof methods> {
  const { session, queries } = useServices();
  return useMutation({
    mutationFn: (decision: keyof typeof methods) => {
      const [method, end] = methods[decision];
      return session.call(method, pathOf(externalId) + end);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: unknownDevicesKey }),
  });
}

const pathOf = (externalId: string): string => `${path}/${encodeURIComponent(externalId)}`;
