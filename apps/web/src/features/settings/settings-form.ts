import { knownZones, zoneHere, zoneToday } from '../../i18n/time-zones.ts';

/** Time zones by the part of the world, as their names have it: "Europe" → Kyiv, Lisbon, … */
type ZoneGroup = { area: string; zones: readonly { name: string; city: string; offset: string }[] };

/** All that this browser knows; beside them the one that is set, should the browser call it otherwise. */
export function zoneGroups(current: string, now: number): readonly ZoneGroup[] {
  const names = new Set([...knownZones(), 'UTC', current]);
  const groups = new Map<string, { name: string; city: string; offset: string }[]>();
  for (const name of names) {
    const [area = name, ...rest] = name.split('/');
    const city = cityOf(name);
    const key = rest.length === 0 ? 'UTC' : area;
    groups.set(key, [...(groups.get(key) ?? []), { name, city, offset: offsetOf(name, now) }]);
  }
  return [...groups]
    .map(([area, zones]) => ({ area, zones: zones.toSorted((a, b) => a.city.localeCompare(b.city)) }))
    .sort((a, b) => a.area.localeCompare(b.area));
}

/** "Kyiv" of Europe/Kyiv. */
export function cityOf(zone: string): string {
  const [area = zone, ...rest] = zone.split('/');
  return (rest.length === 0 ? area : rest.join(', ')).replaceAll('_', ' ');
}

/** "UTC+02:00"; empty for a zone that this browser does not know. */
export function offsetOf(zone: string, now: number): string {
  const format = formatOf('en', { timeZone: zone, timeZoneName: 'longOffset' });
  const offset = format?.formatToParts(now).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return offset.replace('GMT', 'UTC');
}

/** The zone of this browser when it is another one than `current`; names of one zone may differ (Zaporozhye, Kyiv). */
export function otherZoneHere(current: string): string | null {
  const here = zoneHere();
  const same = formatOf('en', { timeZone: current })?.resolvedOptions().timeZone;
  return here === current || (same !== undefined && here === zoneToday(same)) ? null : here;
}

function formatOf(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat(locale, options);
  } catch {
    return null;
  }
}

/** The time of day there, "14:32"; null for a zone that this browser does not know. */
export const timeIn = (zone: string, now: number, locale: string): string | null =>
  formatOf(locale, { timeStyle: 'short', timeZone: zone })?.format(now) ?? null;
