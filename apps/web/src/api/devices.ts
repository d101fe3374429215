import { type QueryClient, useQuery } from '@tanstack/react-query';
import { useCallback, useState, useSyncExternalStore } from 'react';
import type { DeviceType, StationDeviceType } from '@station/protocol/device-types';
import type { Device, Zone } from '@station/protocol/devices';
import type { ServerMessage } from '@station/protocol/socket';
import type { LiveService } from './live.ts';
import { atMostEvery, hasFailed, type Reading, useReading } from './reading.ts';
import { useServices } from './services.ts';

/** Without devices it is `shown` with an empty list. */
export const useDevices = (): Reading<readonly Device[]> =>
  useReading(devicesKey, 'GET /api/devices', { merge: withRead });

/** The list, drawn again only when the tiles of home would stand elsewhere or its headline changes. Their states may be old. */
export function useDeviceOutline(): Reading<readonly Device[]> {
  const [select] = useState(outlining);
  return useReading(devicesKey, 'GET /api/devices', { merge: withRead, select });
}

/** One device, and only its own changes; undefined when there is none of this id. */
export function useDevice(id: string): Device | undefined {
  const { devices } = useServices();
  const subscribe = useCallback((listener: () => void) => devices.subscribe(id, listener), [devices, id]);
  return useSyncExternalStore(subscribe, () => devices.get(id));
}

/** Returns the list of before while the new one differs from it in states only. */
export function outlining(): (devices: readonly Device[]) => readonly Device[] {
  let last: readonly Device[] = [];
  return (devices) => {
    const isSame = devices.length === last.length && devices.every((one, index) => isSameOutline(one, last[index]));
    if (!isSame) last = devices;
    return last;
  };
}

const isSameOutline = (one: Device, other: Device | undefined): boolean =>
  other !== undefined &&
  one.id === other.id &&
  one.zoneId === other.zoneId &&
  one.type === other.type &&
  one.name === other.name &&
  one.status === other.status &&
  one.firmwareVersion === other.firmwareVersion &&
  hasLowBattery(one) === hasLowBattery(other) &&
  (one.fault === null) === (other.fault === null);

/** In percent; at this charge a battery should be changed soon. */
const lowBattery = 20;

export const hasLowBattery = ({ state: { battery } }: Pick<Device, 'state'>): boolean =>
  typeof battery === 'number' && battery <= lowBattery;

const seldomMs = 300_000;

/** Null while they are read for the first time. Without its type a device is shown as well, but cannot be commanded. */
export function useDeviceTypes(): DeviceTypeMap | null {
  const { session } = useServices();
  const query = useQuery({
    queryKey: deviceTypesKey,
    queryFn: ({ signal }) => session.call('GET /api/device-types', { signal }),
    staleTime: seldomMs,
    retry: 5,
    select: deviceTypesOf,
  });
  return query.data ?? (hasFailed(query) ? noDeviceTypes : null);
}

export type DeviceTypeMap = {
  /** A type that counts for every device of its name. */
  named(type: string): DeviceType | undefined;
  /** Of all types, also of those that a device says it is. */
  names(): readonly string[];
  /** The type of a device: what it says about itself counts for it alone. */
  of(device: Pick<Device, 'id' | 'type'>): DeviceType | undefined;
};

export function deviceTypesOf(types: readonly StationDeviceType[]): DeviceTypeMap {
  const named = new Map<string, DeviceType>();
  const announced = new Map<string, DeviceType>();
  for (const one of types) {
    if (one.deviceIds === undefined) named.set(one.type, one);
    for (const id of one.deviceIds ?? []) announced.set(id, one);
  }
  return {
    named: (type) => named.get(type),
    names: () => [...new Set(types.map(({ type }) => type))],
    of: ({ id, type }) => {
      const own = announced.get(id);
      return named.get(type) ?? (own?.type === type ? own : undefined);
    },
  };
}

export const noDeviceTypes = deviceTypesOf([]);

export function useZones(): readonly Zone[] | null {
  const { session } = useServices();
  const { data } = useQuery({
    queryKey: zonesKey,
    queryFn: ({ signal }) => session.call('GET /api/zones', { signal }),
    staleTime: seldomMs,
    retry: 5,
  });
  return data ?? null;
}

/** Keys of the query cache. */
export const devicesKey = ['devices'] as const;
export const deviceTypesKey = ['device-types'] as const;
export const zonesKey = ['zones'] as const;
export const activityKey = (filter: Readonly<Record<string, string>>) => ['activity', filter] as const;
export const historyKey = (deviceId: string, capability: string) => ['history', deviceId, capability] as const;

/** Messages within this time are drawn together: a hundred devices that report at once are one change of the page. */
const gatherMs = 50;
const activityMessages: readonly string[] = [
  'hello',
  'device_event',
  'device_command',
  'notification',
  'activity_changed',
];
/** Limit of reads during many events. */
const readEventsEveryMs = 1_000;
/** Devices that describe themselves anew again and again. */
const readTypesEveryMs = 2_000;

/** Updates the list of devices from the station's events, and reads it again after each handshake: events may have been missed. */
export function followDevices(live: LiveService, queries: QueryClient): void {
  const readDevices = (): void => void queries.invalidateQueries({ queryKey: devicesKey });
  const readEvents = atMostEvery(readEventsEveryMs, () => void queries.invalidateQueries({ queryKey: ['activity'] }));
  const readTypes = atMostEvery(readTypesEveryMs, () => void queries.invalidateQueries({ queryKey: deviceTypesKey }));
  let isFirstHello = true;
  let gathered: ServerMessage[] = [];
  const apply = (): void => {
    const messages = gathered;
    gathered = [];
    const before = queries.getQueryData<readonly Device[]>(devicesKey);
    if (before === undefined) return;
    const { devices, isIncomplete } = withMessages(before, messages);
    if (devices !== before) queries.setQueryData(devicesKey, devices);
    if (isIncomplete) readDevices();
  };
  live.onMessage((message) => {
    if (message.type === 'hello') {
      readDevices();
      void queries.invalidateQueries({ queryKey: zonesKey });
      void queries.invalidateQueries({ queryKey: ['favourites'] });
      if (!isFirstHello) readTypes();
      isFirstHello = false;
    }
    if (message.type === 'device_types_changed') return readTypes();
    if (message.type === 'zones_changed') {
      void queries.invalidateQueries({ queryKey: zonesKey });
      return;
    }
    if (activityMessages.includes(message.type)) readEvents();
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
  devices: readonly Pick<Device, 'id' | 'type'>[] | undefined,
  types: readonly StationDeviceType[] | undefined,
) => boolean {
  const asked = new Set<string>();
  return (devices, types) => {
    if (devices === undefined || types === undefined) return false;
    const known = deviceTypesOf(types);
    const unknown = devices
      .filter((device) => known.of(device) === undefined && !asked.has(device.type))
      .map(({ type }) => type);
    for (const type of unknown) asked.add(type);
    return unknown.length > 0;
  };
}

/**
 * The list after some messages; the same object when they change nothing. `isIncomplete`: it has to be read again, because a message
 * says less than the list shows.
 */
export function withMessages(
  before: readonly Device[],
  messages: readonly ServerMessage[],
): { devices: readonly Device[]; isIncomplete: boolean } {
  const devices = new Map(before.map((device) => [device.id, device]));
  let isChanged = false;
  let isIncomplete = false;
  for (const message of messages) {
    if (message.type === 'device_state' || message.type === 'device_status') {
      const device = devices.get(message.deviceId);
      if (device === undefined) isIncomplete = true;
      else devices.set(device.id, withMessage(device, message));
      isChanged ||= device !== undefined;
    }
    if (message.type === 'device_changed') isIncomplete = true;
    if (message.type === 'device_removed' && devices.delete(message.deviceId)) isChanged = true;
  }
  return { devices: isChanged ? [...devices.values()] : before, isIncomplete };
}

/** What a read has told since then stays. */
function withMessage(
  device: Device,
  message: Extract<ServerMessage, { type: 'device_state' | 'device_status' }>,
): Device {
  const { at } = message;
  if (message.type === 'device_status')
    return isLater(device.statusAt, at) ? device : { ...device, status: message.status, statusAt: at };
  const { state, stateAt, stateTimes } = message;
  return isLater(device.stateAt, stateAt) ? device : { ...device, state, stateAt, stateTimes, lastSeenAt: at };
}

/**
 * The devices that were read, with every state and status that is known to be later: the answer to a read that began before a
 * message may come after it.
 */
export function withRead(known: readonly Device[] | undefined, read: Device[]): Device[] {
  if (known === undefined) return read;
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
