import { ownValue } from '@station/protocol/own-value';

/** Browsers keep the names that zones had when they learned them: the names of today by those, as tz database 2025b has both. */
const renamed: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Catamarca': 'America/Argentina/Catamarca',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Godthab': 'America/Nuuk',
  'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Jujuy': 'America/Argentina/Jujuy',
  'America/Louisville': 'America/Kentucky/Louisville',
  'America/Mendoza': 'America/Argentina/Mendoza',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
};

/** The IANA name of a zone that is used today: "Europe/Kyiv" of Europe/Kiev. */
export const zoneToday = (zone: string): string => ownValue(renamed, zone) ?? zone;

/** IANA name of the zone of this browser. */
export const zoneHere = (): string => zoneToday(Intl.DateTimeFormat().resolvedOptions().timeZone);

/** IANA names of all zones that this browser knows. */
export const knownZones = (): readonly string[] => Intl.supportedValuesOf('timeZone').map(zoneToday);
