import type { QueryClient } from '@tanstack/react-query';
import type { Device } from '@station/protocol/devices';
import type { ServerMessage } from '@station/protocol/socket';
import type { LiveService } from '../api/live.ts';
import { activityKey, devicesKey, zonesKey } from './keys.ts';

/** Keeps the list of devices in step with what the station tells, and reads it anew after each greeting: something may have been missed. */
export function followDevices(live: LiveService, queries: QueryClient): void {
  live.onMessage((message) => {
    if (message.type === 'hello') {
      void queries.invalidateQueries({ queryKey: devicesKey });
      void queries.invalidateQueries({ queryKey: zonesKey });
      void queries.invalidateQueries({ queryKey: ['activity'] });
      return;
    }
    if (message.type === 'device_event') {
      void queries.invalidateQueries({ queryKey: activityKey(message.deviceId) });
      return;
    }
    const devices = queries.getQueryData<readonly Device[]>(devicesKey);
    if (devices === undefined) return;
    const changed = withMessage(devices, message);
    if (changed === 'read_again') void queries.invalidateQueries({ queryKey: devicesKey });
    else if (changed !== devices) queries.setQueryData(devicesKey, changed);
  });
}

/** The list after a message; itself when the message changes nothing of it. */
export function withMessage(devices: readonly Device[], message: ServerMessage): readonly Device[] | 'read_again' {
  if (message.type === 'device_state') {
    const { state, stateAt, at } = message;
    return withChange(devices, message.deviceId, { state, stateAt, lastSeenAt: at });
  }
  if (message.type === 'device_status') {
    return withChange(devices, message.deviceId, { status: message.status, statusAt: message.at });
  }
  if (message.type === 'device_changed') return 'read_again';
  if (message.type !== 'device_removed' || !devices.some(({ id }) => id === message.deviceId)) return devices;
  return devices.filter(({ id }) => id !== message.deviceId);
}

function withChange(devices: readonly Device[], id: string, change: Partial<Device>): readonly Device[] | 'read_again' {
  if (!devices.some((device) => device.id === id)) return 'read_again';
  return devices.map((device) => (device.id === id ? { ...device, ...change } : device));
}
