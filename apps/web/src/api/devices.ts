import { type QueryClient, useQuery } from '@tanstack/react-query';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device, Zone } from '@station/protocol/devices';
import type { ServerMessage } from '@station/protocol/socket';
import type { LiveService } from './live.ts';
import { atMostEvery, type Reading, useReading } from './reading.ts';
import { useServices } from './services.ts';

/** Without devices it is `shown` with an empty list. */
export const useDevices = (): Reading<readonly Device[]> =>
  useReading(devicesKey, '/api/devices', { merge: (known, read) => withRead(known ?? [], read) });

const seldomMs = 300_000;

/**
 * Types by their name; null while they are read for the first time. Without its type a device is shown as well, but cannot be
 * commanded.
 */
export function useDeviceTypes(): DeviceTypeMap | null {
  const { session } = useServices();
  const { data, failureCount } = useQuery({
    queryKey: deviceTypesKey,
    queryFn: ({ signal }) => session.call<DeviceType[]>('GET', '/api/device-types', { signal }),
    staleTime: seldomMs,
    retry: 5,
    select: byType,
  });
  return data ?? (failureCount > 0 ? none : null);
}

export type DeviceTypeMap = ReadonlyMap<string, DeviceType>;

const none: DeviceTypeMap = new Map();
const byType = (types: DeviceType[]): DeviceTypeMap => new Map(types.map((one) => [one.type, one] as const));

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

/** Keys of the query cache. */
export const devicesKey = ['devices'] as const;
const deviceTypesKey = ['device-types'] as const;
export const zonesKey = ['zones'] as const;
export const activityKey = (deviceId: string | null) => ['activity', deviceId] as const;
export const historyKey = (deviceId: string, capability: string) => ['history', deviceId, capability] as const;

/** Messages within this time are drawn together: a hundred devices that report at once are one change of the page. */
const gatherMs = 50;
/** Limit of reads during many events. */
const readEventsEveryMs = 1_000;

/** Updates the list of devices from the station's events, and reads it again after each handshake: events may have been missed. */
export function followDevices(live: LiveService, queries: QueryClient): void {
  const readDevices = (): void => void queries.invalidateQueries({ queryKey: devicesKey });
  const readEvents = atMostEvery(readEventsEveryMs, () => void queries.invalidateQueries({ queryKey: ['activity'] }));
  const readTypes = (): void => void queries.invalidateQueries({ queryKey: deviceTypesKey });
  let isFirstHello = true;
  let gathered: ServerMessage[] = [];
  const apply = (): void => {
    const messages = gathered;
    gathered = [];
    const before = queries.getQueryData<readonly Device[]>(devicesKey);
    if (before === undefined) return;
    let devices = before;
    let incomplete = false;
    for (const message of messages) {
      const changed = withMessage(devices, message);
      if (changed === 'read_again') incomplete = true;
      else devices = changed;
    }
    if (devices !== before) queries.setQueryData(devicesKey, devices);
    if (incomplete) readDevices();
  };
  live.onMessage((message) => {
    if (message.type === 'hello') {
      readDevices();
      void queries.invalidateQueries({ queryKey: zonesKey });
      if (!isFirstHello) readTypes();
      isFirstHello = false;
    }
    if (message.type === 'device_types_changed') return readTypes();
    if (['hello', 'device_event', 'notification'].includes(message.type)) readEvents();
    if (!message.type.startsWith('device_')) return;
    if (gathered.length === 0) setTimeout(apply, gatherMs);
    gathered.push(message);
  });
  const missing = missingTypes();
  queries.getQueryCache().subscribe(({ type, query }) => {
    if (type !== 'updated' || (query.queryKey as readonly unknown[])[0] !== devicesKey[0]) return;
    if (missing(queries.getQueryData(devicesKey), queries.getQueryData(deviceTypesKey))) readTypes();
  });
}

/** Whether a device has a type that is not known; true once for each such type, because the station may not know it either. */
export function missingTypes(): (
  devices: readonly Pick<Device, 'type'>[] | undefined,
  types: readonly Pick<DeviceType, 'type'>[] | undefined,
) => boolean {
  const asked = new Set<string>();
  return (devices, types) => {
    if (devices === undefined || types === undefined) return false;
    const known = new Set(types.map(({ type }) => type));
    const unknown = devices.map(({ type }) => type).filter((type) => !known.has(type) && !asked.has(type));
    for (const type of unknown) asked.add(type);
    return unknown.length > 0;
  };
}

/** The list after a message; the same object when the message changes nothing. */
export function withMessage(devices: readonly Device[], message: ServerMessage): readonly Device[] | 'read_again' {
  if (message.type === 'device_state') {
    const { state, stateAt, stateTimes, at } = message;
    return withChange(devices, message.deviceId, { state, stateAt, stateTimes, lastSeenAt: at });
  }
  if (message.type === 'device_status') {
    return withChange(devices, message.deviceId, { status: message.status, statusAt: message.at });
  }
  if (message.type === 'device_changed') return 'read_again';
  if (message.type !== 'device_removed' || !devices.some(({ id }) => id === message.deviceId)) return devices;
  return devices.filter(({ id }) => id !== message.deviceId);
}

/**
 * The devices that were read, with every state and status that is known to be later: the answer to a read that began before a
 * message may come after it.
 */
export function withRead(known: readonly Device[], read: readonly Device[]): Device[] {
  const before = new Map(known.map((device) => [device.id, device]));
  return read.map((device) => {
    const was = before.get(device.id);
    if (was === undefined) return device;
    const { state, stateAt, stateTimes, status, statusAt, lastSeenAt } = was;
    return {
      ...device,
      ...(isLater(stateAt, device.stateAt) && { state, stateAt, stateTimes }),
      ...(isLater(statusAt, device.statusAt) && { status, statusAt }),
      ...(isLater(lastSeenAt, device.lastSeenAt) && { lastSeenAt }),
    };
  });
}

// The station's form of ISO 8601 sorts as text.
const isLater = (one: string | null, other: string | null): boolean => (one ?? '') > (other ?? '');

function withChange(devices: readonly Device[], id: string, change: Partial<Device>): readonly Device[] | 'read_again' {
  if (!devices.some((device) => device.id === id)) return 'read_again';
  return devices.map((device) => (device.id === id ? { ...device, ...change } : device));
}
