import { builtInDeviceTypes } from '@station/protocol/builtin-device-types';
import type { DeviceType } from '@station/protocol/device-types';

/** Where a type that is not built in comes from. */
export type DeviceTypeSource = 'file' | 'manifest' | 'handshake';

/** The device types of the station. */
export type DeviceTypes = {
  list(): readonly DeviceType[];
  find(type: string): DeviceType | undefined;
};

/** For parts that run without the station's own types, such as tests. */
export const builtInTypes: DeviceTypes = {
  list: () => builtInDeviceTypes,
  find: (type) => builtInDeviceTypes.find((known) => known.type === type),
};

/** Offers a description from outside. It is checked first; an invalid one is logged and ignored. Never rejects. */
type AnnounceDeviceType = (description: unknown, source: 'manifest' | 'handshake') => Promise<void>;

export type DeviceTypeRegistry = DeviceTypes & { announce: AnnounceDeviceType };

/** Whether a device that was added as `type` may name `reported` in its handshake. */
export const acceptsHandshakeType = (types: DeviceTypes, type: string, reported: string): boolean =>
  reported === type || (types.find(type)?.handshakeTypes?.includes(reported) ?? false);
