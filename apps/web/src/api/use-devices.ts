import { replaceEqualDeep, useQuery } from '@tanstack/react-query';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device, Zone } from '@station/protocol/devices';
import { devicesKey, deviceTypesKey, zonesKey } from './device-keys.ts';
import { withRead } from './follow-devices.ts';
import { type Freshness, freshnessOf, pollEveryMs } from './freshness.ts';
import { asProblem, type Problem } from './problem.ts';
import { useServices, useStore, useTick } from './services.ts';

/** The devices in the forms a view has to draw; nothing to show is `shown` with an empty list. */
export type DevicesView =
  | { kind: 'loading' }
  | { kind: 'fault'; problem: Problem; retry: () => void; retrying: boolean }
  | { kind: 'shown'; devices: readonly Device[]; freshness: Freshness };

export function useDevices(): DevicesView {
  const { session, live } = useServices();
  const { link } = useStore(live.state);
  const query = useQuery<Device[], Problem>({
    queryKey: devicesKey,
    queryFn: ({ signal }) => session.call<Device[]>('GET', '/api/devices', { signal }),
    structuralSharing: (known, read) => replaceEqualDeep(known, withRead((known ?? []) as Device[], read as Device[])),
    refetchInterval: ({ state }) => pollEveryMs({ link, agent: true, busy: false, failed: state.status === 'error' }),
  });
  useTick(1_000);
  if (!query.data) {
    if (!query.error) return { kind: 'loading' };
    const retry = (): void => void query.refetch();
    return { kind: 'fault', problem: asProblem(query.error), retry, retrying: query.isFetching };
  }
  const failure = query.error ? asProblem(query.error) : null;
  const freshness = freshnessOf({ link, agent: true, readAt: query.dataUpdatedAt, failure, now: Date.now() });
  return { kind: 'shown', devices: query.data, freshness };
}

const seldomMs = 300_000;

/** Types by their name; empty until they are known. A device is shown without its type as well, but cannot be commanded. */
export function useDeviceTypes(): ReadonlyMap<string, DeviceType> {
  const { session } = useServices();
  const { data } = useQuery({
    queryKey: deviceTypesKey,
    queryFn: ({ signal }) => session.call<DeviceType[]>('GET', '/api/device-types', { signal }),
    staleTime: seldomMs,
    retry: 5,
    select: byType,
  });
  return data ?? none;
}

const none: ReadonlyMap<string, DeviceType> = new Map();
const byType = (types: DeviceType[]): ReadonlyMap<string, DeviceType> =>
  new Map(types.map((one) => [one.type, one] as const));

export function useZones(): readonly Zone[] | null {
  const { session } = useServices();
  const { data } = useQuery({
    queryKey: zonesKey,
    queryFn: ({ signal }) => session.call<Zone[]>('GET', '/api/zones', { signal }),
    staleTime: seldomMs,
    retry: 5,
  });
  return data ?? null;
}
