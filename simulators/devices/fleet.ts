import { startVirtualDevice, type DeviceLogin, type VirtualDevice } from './virtual-device.ts';

export type Fleet = AsyncDisposable & {
  devices: readonly VirtualDevice[];
  /** How many the station has greeted. */
  known(): number;
  counts(): { said: number; acknowledged: number; commands: number };
};

/** Devices on connections of their own. The same seed makes the same devices. */
export function startFleet(options: {
  url: string;
  stationId: string;
  logins: readonly DeviceLogin[];
  seed?: string;
  heartbeatMs?: number;
  speed?: number;
}): Fleet {
  const { logins, seed = 'station', ...rest } = options;
  const devices = logins.map((login) => startVirtualDevice({ ...rest, login, seed }));
  return {
    devices,
    known: () => devices.filter((device) => device.isKnown()).length,
    counts: () => {
      const sum = { said: 0, acknowledged: 0, commands: 0 };
      for (const { counts } of devices) {
        sum.said += counts.said;
        sum.acknowledged += counts.acknowledged;
        sum.commands += counts.commands;
      }
      return sum;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(devices.map((device) => device[Symbol.asyncDispose]()));
    },
  };
}
