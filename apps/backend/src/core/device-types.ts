import type { DeviceType } from '@station/protocol/device-types';

/** Where a type that is not built in comes from. */
export type DeviceTypeSource = 'file' | 'manifest' | 'handshake';

/** The device types of the station. */
export type DeviceTypes = {
  list(): readonly DeviceType[];
  find(type: string): DeviceType | undefined;
};

/** Offers a description from outside. It is checked first; an invalid one is logged and ignored. Never rejects. */
type AnnounceDeviceType = (description: unknown, source: 'manifest' | 'handshake') => Promise<void>;

export type DeviceTypeRegistry = DeviceTypes & { announce: AnnounceDeviceType };

/** Whether a device that was added as `type` may name `reported` in its handshake. */
export const acceptsHandshakeType = (types: DeviceTypes, type: string, reported: string): boolean =>
  reported === type || (types.find(type)?.handshakeTypes?.includes(reported) ?? false);
