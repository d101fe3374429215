import type { DeviceType, StationDeviceType } from '@station/protocol/device-types';

/** Where a type that is not built in comes from. */
export type DeviceTypeSource = 'file' | 'manifest' | 'handshake';

/** What decides the type of a device. */
export type TypedDevice = { id: string; type: string };

/** A description that devices gave of themselves. It counts for these devices alone (ADR 69). */
export type AnnouncedType = { deviceType: DeviceType; deviceIds: readonly string[] };

/** The device types of the station. */
export type DeviceTypes = {
  /** Types of files, built-in ones and those of manifests: they count for every device that names them. */
  list(): readonly DeviceType[];
  /** One of `list`. */
  find(type: string): DeviceType | undefined;
  /** The type of this device: the one of `list` that it names, else what it says about itself. */
  of(device: TypedDevice): DeviceType | undefined;
  /** What devices say about themselves, where `list` has no type of that name. */
  announced(): readonly AnnouncedType[];
};

export type DeviceTypeRegistry = DeviceTypes & {
  /** Offers a description of a firmware manifest. It is checked first; an invalid one is logged and ignored. Never rejects. */
  announce(description: unknown): Promise<void>;
  /**
   * What a device says about itself in its handshake, once it is stored. Null: nothing, so that nothing is kept; an invalid description is
   * logged and ignored. Never rejects.
   */
  describe(device: TypedDevice, description: Readonly<Record<string, unknown>> | null): Promise<void>;
};

/** As clients get it: with the devices for which alone it counts. */
export const announcedBody = ({ deviceType, deviceIds }: AnnouncedType): StationDeviceType => ({
  ...deviceType,
  deviceIds: [...deviceIds],
});

/** Whether a device that was added as `type` may name `reported` in its handshake. */
export const acceptsHandshakeType = (types: Pick<DeviceTypes, 'find'>, type: string, reported: string): boolean =>
  reported === type || (types.find(type)?.handshakeTypes?.includes(reported) ?? false);
