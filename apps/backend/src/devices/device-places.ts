import { type Clock, isoTime } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { DeviceEvents } from '../core/device-events.ts';
import type { SocketHub } from '../socket/hub.ts';
import type { DeviceStore } from '../store/device-store.ts';

export type DevicePlaces = {
  /** Null: none, or not known: then nobody who sees a part of the station is told of the device. */
  zoneOf(deviceId: string): string | null;
  /** Reads all again, and follows changes from now on. */
  start(parts: PlacesParts): Promise<Disposable & { reload(): Promise<void> }>;
};

type PlacesParts = {
  events: DeviceEvents;
  devices: Pick<DeviceStore, 'zones' | 'zoneOf'>;
  hub: Pick<SocketHub, 'moved'>;
  clock: Pick<Clock, 'now'>;
  logger: BackendLogger;
};

/** `isKnown`: false while it is read again. */
type Place = { zoneId: string | null; isKnown: boolean };

/**
 * In which zone each device is, in memory, for what is sent at /ws. The zones that somebody may use come and go with their session; so a removed
 * zone needs nothing here: nobody has it any more.
 */
export function createDevicePlaces(): DevicePlaces {
  const places = new Map<string, Place>();
  return {
    zoneOf: (deviceId) => {
      const place = places.get(deviceId);
      return place?.isKnown === true ? place.zoneId : null;
    },
    start: async ({ events, devices, hub, clock, logger }) => {
      const refresh = async (deviceId: string): Promise<void> => {
        const from = places.get(deviceId)?.zoneId ?? null;
        const reading: Place = { zoneId: from, isKnown: false };
        places.set(deviceId, reading);
        const to = await devices.zoneOf(deviceId);
        // A later change reads it again.
        if (places.get(deviceId) !== reading) return;
        places.set(deviceId, { zoneId: to, isKnown: true });
        hub.moved({ deviceId, from, to, at: isoTime(clock.now()) });
      };
      const load = async (): Promise<void> => {
        const before = new Map(places);
        for (const { id, zoneId } of await devices.zones()) {
          // What changed meanwhile is newer.
          if (places.get(id) === before.get(id)) places.set(id, { zoneId, isKnown: true });
        }
      };
      // Subscribes before it reads: what changes in between is read again.
      const subscription = events.subscribe((event) => {
        // A removed device keeps its place, so that those who saw it are told. Its id never comes back.
        if (event.kind !== 'added' && event.kind !== 'changed') return;
        refresh(event.deviceId).catch((error: unknown) => logger.failed('the zone of a device', error));
      });
      await load();
      return { reload: load, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
    },
  };
}
