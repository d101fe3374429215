import { parseObject } from '@station/kit/json';
import { Compile } from 'typebox/compile';
import { HelperEvent, HelperNote } from '@station/protocol/ble-frames';

/**
 * What helpers write (specification, "BLE helper protocol"). Bluetooth libraries spell addresses and UUIDs in several ways (BlueZ and Bleak
 * `AA:BB:…` and whole UUIDs, Noble `aa:bb:…`, UUIDs without `-` and short ones) and leave out what an advertisement does not have.
 */

/** `writtenAs`: the address as this helper spells it, where that is another way. */
export type HelperFrame = { event: HelperEvent; writtenAs: string | null };

/** The address of an advertisement as our helper writes it, found without reading the line: there may be ten thousand a second. */
const advertised = /^\{"event":"discovered","address":"([0-9A-F:]{17})"/;

export const addressInLine = (line: string): string | null => advertised.exec(line)?.[1] ?? null;

const helperEvent = Compile(HelperEvent);
const helperNote = Compile(HelperNote);

/** A line of the standard error. @returns null when it is no note. */
export function readHelperNote(line: string): HelperNote | null {
  const note = parseObject(line);
  return helperNote.Check(note) ? note : null;
}

/** @returns null when the line is no frame. */
export function readHelperFrame(line: string): HelperFrame | null {
  const value = parseObject(line);
  if (value === null) return null;
  const event = { ...value, ...usualForm(value) };
  if (!helperEvent.Check(event)) return null;
  const written = value['address'];
  const isOther = 'address' in event && typeof written === 'string' && written !== event.address;
  return { event, writtenAs: isOther ? written : null };
}

function usualForm(value: Record<string, unknown>): Record<string, unknown> {
  switch (value['event']) {
    case 'discovered':
      return {
        address: addressOf(value['address']),
        name: value['name'] ?? '',
        // Not known (Bluetooth Core, vol. 4, part E, 7.7.65.2).
        rssi: value['rssi'] ?? 127,
        service_uuids: listOf(value['service_uuids'] ?? []),
        service_data: tableOf(value['service_data'] ?? {}),
      };
    case 'write_result':
      return { address: addressOf(value['address']), error: value['error'] ?? '' };
    default:
      return {};
  }
}

const listOf = (value: unknown): unknown => (Array.isArray(value) ? value.map(uuidOf) : value);

const tableOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).map(([uuid, data]) => [uuidOf(uuid), data]))
    : value;

function addressOf(value: unknown): unknown {
  if (typeof value !== 'string' || !/^[0-9A-Fa-f]{2}([:-]?[0-9A-Fa-f]{2}){5}$/.test(value)) return value;
  const digits = value.replaceAll(/[:-]/g, '').toUpperCase();
  return digits.replaceAll(/..(?!$)/g, '$&:');
}

/** The end of UUIDs that have a short form (Bluetooth Core, vol. 3, part B, 2.5.1). */
const base = '-0000-1000-8000-00805f9b34fb';

function uuidOf(value: unknown): unknown {
  if (typeof value !== 'string' || value.length > 36) return value;
  const digits = value.toLowerCase().replace(/^0x/, '').replaceAll('-', '');
  if (/^[0-9a-f]{4}$/.test(digits)) return `0000${digits}${base}`;
  if (/^[0-9a-f]{8}$/.test(digits)) return `${digits}${base}`;
  return digits.replace(/^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/, '$1-$2-$3-$4-$5');
}
