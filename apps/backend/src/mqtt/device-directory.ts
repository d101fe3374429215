import type { Clock } from '@station/kit/clock';
import type { DeviceEvents } from '../core/device-events.ts';
import type { MqttDevices } from './ports.ts';

export type KnownDevice = { id: string; externalId: string; type: string };

export type DeviceDirectory = Disposable & {
  /** The device with this external id; null when there is none. Synchronous when it was looked up recently. */
  find(externalId: string): KnownDevice | Promise<KnownDevice | null>;
};

/** Another replica may have removed or re-added a device, and its event may be lost. */
const freshMs = 5_000;

/** Devices by their external id, without asking the database for every message. */
export function createDeviceDirectory(options: {
  devices: Pick<MqttDevices, 'findByExternalId'>;
  events: DeviceEvents;
  clock: Clock;
}): DeviceDirectory {
  const { devices, events, clock } = options;
  const known = new Map<string, { device: KnownDevice; untilMs: number }>();
  /** Lookups in progress: thousands of messages of a few devices after a start must not cause as many queries. */
  const asked = new Map<string, Promise<KnownDevice | null>>();
  const forget = (externalId: string): void => {
    known.delete(externalId);
    // The answer may be out of date, so the next message queries again.
    asked.delete(externalId);
  };
  const listening = events.subscribe((event) => {
    if (event.kind === 'added' || event.kind === 'changed' || event.kind === 'removed') {
      forget(event.externalId);
    }
  });
  const read = async (externalId: string): Promise<KnownDevice | null> => {
    const row = await devices.findByExternalId(externalId);
    return row && { id: row.id, externalId, type: row.type };
  };
  const lookUp = (externalId: string): Promise<KnownDevice | null> => {
    const waiting = asked.get(externalId);
    if (waiting !== undefined) return waiting;
    const asking = read(externalId);
    asked.set(externalId, asking);
    const settle = (device: KnownDevice | null): void => {
      if (asked.get(externalId) !== asking) return;
      forget(externalId);
      if (device !== null) known.set(externalId, { device, untilMs: clock.monotonic() + freshMs });
    };
    asking.then(settle, () => settle(null));
    return asking;
  };
  return {
    find: (externalId) => {
      const entry = known.get(externalId);
      return entry && clock.monotonic() < entry.untilMs ? entry.device : lookUp(externalId);
    },
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
