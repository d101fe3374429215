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
  /** Number of devices whose handshake the station has answered. */
  acceptedCount(): number;
  counts(): { sent: number; acknowledged: number; commands: number };
};

export type FleetOptions = Pick<VirtualDeviceOptions, 'heartbeatMs' | 'speed' | 'otaBytesPerSecond' | 'httpUrl'> & {
  url: string;
  stationId: string;
  logins: readonly DeviceLogin[];
  seed?: string;
  /** Folder of the flash files; default: in memory. */
  flashFolder?: string;
  /** The last `count` devices sleep most of the time. */
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
    acceptedCount: () => devices.filter((device) => device.isAccepted()).length,
    counts: () => {
      const sum = { sent: 0, acknowledged: 0, commands: 0 };
      for (const { counts } of devices) {
        sum.sent += counts.sent;
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
