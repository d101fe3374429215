import type { Capability, DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import type { TFunction } from 'i18next';

/** What sentences are spoken in: the language, and the devices by their names. */
export type Surroundings = {
  t: TFunction;
  /** BCP 47. */
  locale: string;
  devices: readonly Device[];
  types: ReadonlyMap<string, DeviceType>;
};

export const deviceOf = ({ devices }: Surroundings, id: string): Device | undefined =>
  devices.find((device) => device.id === id);

export const typeOf = (around: Surroundings, id: string): DeviceType | undefined =>
  around.types.get(deviceOf(around, id)?.type ?? '');

/** What is known of a value of a device; of one that nothing is known of, what the value itself tells. */
export function capabilityOf(around: Surroundings, deviceId: string, name: string, value?: unknown): Capability {
  const known = typeOf(around, deviceId)?.capabilities.find((one) => one.name === name);
  const kind = typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : 'text';
  return known ?? { name, kind, unit: null, min: null, max: null };
}
