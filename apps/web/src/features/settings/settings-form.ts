/** Time zones by the part of the world, as their names have it: "Europe" → Kyiv, Lisbon, … */
type ZoneGroup = { area: string; zones: readonly { name: string; city: string }[] };

/** All that this browser knows; beside them the one that is set, should the browser call it otherwise (Kiev for Kyiv). */
export function zoneGroups(current: string): readonly ZoneGroup[] {
  const names = new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', current]);
  const groups = new Map<string, { name: string; city: string }[]>();
  for (const name of names) {
    const [area = name, ...rest] = name.split('/');
    const city = (rest.length === 0 ? area : rest.join(', ')).replaceAll('_', ' ');
    const key = rest.length === 0 ? 'UTC' : area;
    groups.set(key, [...(groups.get(key) ?? []), { name, city }]);
  }
  return [...groups]
    .map(([area, zones]) => ({ area, zones: zones.toSorted((a, b) => a.city.localeCompare(b.city)) }))
    .sort((a, b) => a.area.localeCompare(b.area));
}

/** The time of day there, "14:32"; null for a zone that this browser does not know. */
export function timeIn(zone: string, now: number, locale: string): string | null {
  try {
    return new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone: zone }).format(now);
  } catch {
    return null;
  }
}
