import { randomBytes } from 'node:crypto';
import { startVirtualDevice, type VirtualDevice } from '../devices/virtual-device.ts';

/** Devices with a login of their own, which the station does not know. */
export type UnknownDevices = AsyncDisposable & {
  /** One more connects. @returns its id. */
  connect(): string;
  ids(): string[];
};

export function createUnknownDevices(options: { url: string; stationId: string }): UnknownDevices {
  const devices: VirtualDevice[] = [];
  return {
    connect: () => {
      const externalId = `light-${randomBytes(3).toString('hex')}`;
      const token = randomBytes(32).toString('base64url');
      const login = { externalId, type: 'light', name: 'Unknown lamp', token, profile: 'field' } as const;
      // It repeats its handshake soon, so that it comes online soon after it was accepted.
      const profile = { handshakeRetryMs: 5_000 };
      devices.push(startVirtualDevice({ ...options, login, profile, seed: 'unknown-devices' }));
      return externalId;
    },
    ids: () => devices.map(({ login }) => login.externalId),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(devices.map((device) => device[Symbol.asyncDispose]()));
    },
  };
}
