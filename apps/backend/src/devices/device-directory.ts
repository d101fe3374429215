import type { Clock } from '@station/kit/clock';
import type { DeviceEvents } from './device-events.ts';
import type { DeviceStore } from './device-store.ts';

export type KnownDevice = { id: string; externalId: string; type: string };

export type DeviceDirectory = Disposable & {
  /** Whom a topic speaks of; null when there is no such device. At once when it was looked up lately. */
  find(externalId: string): KnownDevice | Promise<KnownDevice | null>;
};

/** Another replica may have removed a device or added it again; nobody tells us. */
const freshMs = 5_000;

/** Devices by their external id, without asking the database for every message. */
export function createDeviceDirectory(options: {
  devices: Pick<DeviceStore, 'findByExternalId'>;
  events: DeviceEvents;
  clock: Clock;
}): DeviceDirectory {
  const { devices, events, clock } = options;
  const known = new Map<string, { device: KnownDevice; untilMs: number }>();
  const listening = events.subscribe((happening) => {
    if (happening.kind === 'added' || happening.kind === 'changed' || happening.kind === 'removed') {
      known.delete(happening.externalId);
    }
  });
  const lookUp = async (externalId: string): Promise<KnownDevice | null> => {
    const row = await devices.findByExternalId(externalId);
    if (row === null) {
      known.delete(externalId);
      return null;
    }
    const device = { id: row.id, externalId, type: row.type };
    known.set(externalId, { device, untilMs: clock.monotonic() + freshMs });
    return device;
  };
  return {
    find: (externalId) => {
      const entry = known.get(externalId);
      return entry && clock.monotonic() < entry.untilMs ? entry.device : lookUp(externalId);
    },
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}
