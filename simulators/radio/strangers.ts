import { randomBytes } from 'node:crypto';
import { startVirtualDevice, type VirtualDevice } from '../devices/virtual-device.ts';

/** Devices with a login of their own, which the station does not know. */
export type Strangers = AsyncDisposable & {
  /** One more connects. @returns its id. */
  knock(): string;
  ids(): string[];
};

export function createStrangers(options: { url: string; stationId: string }): Strangers {
  const devices: VirtualDevice[] = [];
  return {
    knock: () => {
      const externalId = `light-${randomBytes(3).toString('hex')}`;
      const token = randomBytes(32).toString('base64url');
      const login = { externalId, type: 'light', name: 'Unknown lamp', token, profile: 'field' } as const;
      // It repeats its handshake soon, so that it comes online soon after it was accepted.
      const profile = { handshakeRetryMs: 5_000 };
      devices.push(startVirtualDevice({ ...options, login, profile, seed: 'strangers' }));
      return externalId;
    },
    ids: () => devices.map(({ login }) => login.externalId),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(devices.map((device) => device[Symbol.asyncDispose]()));
    },
  };
}
