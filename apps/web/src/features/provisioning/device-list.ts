import Papa from 'papaparse';
import { readAdvertisedName } from '@station/protocol/ble-names';
import { csvCell, textOfCell } from '@station/protocol/csv';
import type { Device, Zone } from '@station/protocol/devices';
import type { ManualProvisionings } from '@station/protocol/provisioning';
import { isExternalId } from '@station/protocol/topics';
import { isTypeName } from '@station/protocol/type-names';
import { ownValue } from '@station/protocol/own-value';

/** The most that the station takes at once (protocol, `ManualAdd`). */
export const mostDevices = 200;
const longestName = 100;

export type ListLine = {
  /** Of the file, from 1. */
  line: number;
  externalId: string;
  type: string;
  /** Empty: the station names it. */
  name: string;
  /** Empty: none. */
  zone: string;
  fault: 'id' | 'type' | 'name' | 'zone' | { twiceOn: number } | null;
  isKnown: boolean;
  isNewZone: boolean;
};

export type DeviceList =
  | { kind: 'lines'; lines: readonly ListLine[] }
  | { kind: 'no_column' | 'empty' }
  | { kind: 'too_many'; count: number };

/** Names of zones are the same in any case, as people write them. */
export const zoneKey = (name: string): string => name.trim().toLocaleLowerCase();

/** Reads a CSV text with the columns external_id, type, name and zone, in any order, separated by commas, semicolons or tabs. */
export function readList(
  text: string,
  known: { devices: readonly Pick<Device, 'externalId'>[]; zones: readonly Pick<Zone, 'name'>[] },
): DeviceList {
  const { data, meta } = Papa.parse<Record<string, string | undefined>>(text, {
    header: true,
    transformHeader: (name) => name.trim().toLowerCase(),
  });
  if (meta.fields?.includes('external_id') !== true) return { kind: 'no_column' };
  const rows = data
    .map((row, index) => ({ row, line: index + 2 }))
    .filter(({ row }) => Object.values(row).some((value) => typeof value === 'string' && value.trim() !== ''));
  if (rows.length === 0) return { kind: 'empty' };
  if (rows.length > mostDevices) return { kind: 'too_many', count: rows.length };
  const devices = new Set(known.devices.map(({ externalId }) => externalId));
  const zones = new Set(known.zones.map(({ name }) => zoneKey(name)));
  const seenOn = new Map<string, number>();
  const lines = rows.map(({ row, line }): ListLine => {
    const [id = '', type = '', name = '', zone = ''] = ['external_id', 'type', 'name', 'zone'].map((column) =>
      textOfCell(ownValue(row, column)?.trim() ?? ''),
    );
    // A column may hold what the label says: type and id in one.
    const label = type === '' ? readAdvertisedName(id) : null;
    const read = { externalId: label?.externalId ?? id, type: label?.type ?? type, name, zone };
    const twiceOn = seenOn.get(read.externalId);
    seenOn.set(read.externalId, twiceOn ?? line);
    return {
      line,
      ...read,
      fault: faultOf(read) ?? (twiceOn === undefined ? null : { twiceOn }),
      isKnown: devices.has(read.externalId),
      isNewZone: zone !== '' && !zones.has(zoneKey(zone)),
    };
  });
  return { kind: 'lines', lines };
}

function faultOf({
  externalId,
  type,
  name,
  zone,
}: Pick<ListLine, 'externalId' | 'type' | 'name' | 'zone'>): 'id' | 'type' | 'name' | 'zone' | null {
  if (!isExternalId(externalId)) return 'id';
  if (!isTypeName(type)) return 'type';
  if (name.length > longestName) return 'name';
  return zone.length > longestName ? 'zone' : null;
}

export const exampleList = Papa.unparse(
  [
    ['external_id', 'type', 'name', 'zone'],
    ['a1b2c3', 'light', 'Lamp 1', 'Hall'],
    ['a1b2c4', 'climate', '', ''],
  ],
  { newline: '\n' },
);

/** The logins as CSV, in the order of the list. */
export function loginsCsv(made: ManualProvisionings, lines: readonly ListLine[]): string {
  const zoneOf = new Map(lines.map(({ externalId, zone }) => [externalId, zone]));
  const rows = made.map(({ provisioning: { externalId, deviceType, name }, login }) => {
    const { device_token: token, ...address } = login;
    return {
      external_id: csvCell(externalId),
      type: csvCell(deviceType ?? ''),
      name: csvCell(name),
      zone: csvCell(zoneOf.get(externalId) ?? ''),
      ...Object.fromEntries(Object.entries(address).map(([key, value]) => [key, csvCell(value)])),
      // A changed one does not log in. Its letters make no formula that does something.
      device_token: /^[\w-]+$/.test(token) ? token : csvCell(token),
    };
  });
  const head = Object.keys(rows[0] ?? {});
  return [head, ...rows.map((row) => Object.values(row))].map((cells) => cells.join(',')).join('\n');
}
