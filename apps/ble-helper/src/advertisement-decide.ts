import { improvServiceDataUuid, improvServiceUuid, type Discovered } from '@station/protocol/ble-frames';
import { record, text, texts, type Values } from './bluez-objects.ts';

/** What an advertisement may change in the properties of a device. */
const advertised = [
  'Address',
  'Name',
  'RSSI',
  'UUIDs',
  'ServiceData',
  'ManufacturerData',
  'AdvertisingData',
  'TxPower',
];

/** Whether a change of these properties means that the device has advertised. */
export const isAdvertisement = (keys: readonly string[]): boolean => keys.some((key) => advertised.includes(key));

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const addressPattern = /^([0-9A-F]{2}:){5}[0-9A-F]{2}$/;
const isUuid = (value: string): boolean => uuidPattern.test(value);
const maxEntries = 64;
const maxName = 248;
const unknownRssi = 127;

/** @param base64 encodes bytes. @returns null for an object without an address. */
export function discoveredOf(device: Values, base64: (bytes: Uint8Array) => string): Discovered | null {
  const address = text(device['Address']).toUpperCase();
  if (!addressPattern.test(address)) return null;
  const data = Object.entries(record(device['ServiceData'])).flatMap(([uuid, bytes]): [string, string][] =>
    isUuid(uuid) && bytes instanceof Uint8Array ? [[uuid, base64(bytes)]] : [],
  );
  return {
    event: 'discovered',
    address,
    name: text(device['Name']).slice(0, maxName),
    rssi: typeof device['RSSI'] === 'number' ? device['RSSI'] : unknownRssi,
    service_uuids: texts(device['UUIDs']).filter(isUuid).slice(0, maxEntries),
    service_data: Object.fromEntries(data.slice(0, maxEntries)),
  };
}

/** Improv's service data stands for its service. */
export const isAdvertising = (device: Discovered, uuids: readonly string[]): boolean =>
  uuids.some(
    (uuid) =>
      device.service_uuids.includes(uuid) ||
      Object.hasOwn(device.service_data, uuid) ||
      (uuid === improvServiceUuid && Object.hasOwn(device.service_data, improvServiceDataUuid)),
  );

export type Sent = { atMs: number; content: string };

/** A device that only changes its signal strength is reported at most this often. */
const sameEveryMs = 1000;

/** @returns what to remember when the device is to be reported now; null: not now. */
export function decideReport(device: Discovered, before: Sent | undefined, nowMs: number): Sent | null {
  const { rssi: _, ...rest } = device;
  const content = JSON.stringify(rest);
  if (before !== undefined && before.content === content && nowMs - before.atMs < sameEveryMs) return null;
  return { atMs: nowMs, content };
}
