import { join } from 'node:path';
import { folderStore } from './flash.ts';
import {
  startVirtualDevice,
  type DeviceLogin,
  type VirtualDevice,
  type VirtualDeviceOptions,
} from './virtual-device.ts';

export type Fleet = AsyncDisposable & {
  devices: readonly VirtualDevice[];
  /** How many handshakes the station has answered. */
  known(): number;
  counts(): { said: number; acknowledged: number; commands: number };
};

export type FleetOptions = Pick<VirtualDeviceOptions, 'heartbeatMs' | 'speed' | 'otaBytesPerSecond'> & {
  url: string;
  stationId: string;
  logins: readonly DeviceLogin[];
  seed?: string;
  /** Folder of their flashes; default: in memory. */
  flashFolder?: string;
  /** This many of them, the last ones, sleep most of the time. */
  sleepers?: { count: number; awakeMs: number; everyMs: number };
};

/** Virtual devices, each with its own connection. The same seed makes the same devices. */
export function startFleet(options: FleetOptions): Fleet {
  const { logins, seed = 'station', flashFolder, sleepers, ...rest } = options;
  const devices = logins.map((login, index) => {
    const sleeps = sleepers !== undefined && index >= logins.length - sleepers.count;
    return startVirtualDevice({
      ...rest,
      ...(flashFolder === undefined ? {} : { flash: folderStore(join(flashFolder, login.externalId)) }),
      ...(sleeps ? { sleep: { awakeMs: sleepers.awakeMs, everyMs: sleepers.everyMs } } : {}),
      login,
      seed,
    });
  });
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
