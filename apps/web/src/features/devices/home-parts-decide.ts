import type { Device, Zone } from '@station/protocol/devices';

/** A group of devices at home. */
export type ZonePart = {
  kind: 'favourites' | 'zone' | 'others';
  /** Of the kind `zone`. */
  zone: Zone | null;
  /** Those that are shown here. */
  devices: readonly Device[];
  /** All of the zone, also those that are shown among the favourites. */
  all: readonly Device[];
};

/**
 * Favourites first, then the zones in the order of the household, then what is in no zone. A favourite is not shown again in its zone.
 * @param withEmpty whether zones without a device are shown
 */
export function partsOf(
  devices: readonly Device[],
  zones: readonly Zone[],
  favourites: readonly string[],
  withEmpty: boolean,
): ZonePart[] {
  const byId = new Map(devices.map((device) => [device.id, device] as const));
  const first = favourites.flatMap((id) => byId.get(id) ?? []);
  const isFirst = new Set(first.map(({ id }) => id));
  const known = new Set(zones.map(({ id }) => id));
  const restOf = (all: readonly Device[]): Device[] => all.filter(({ id }) => !isFirst.has(id));
  const inZones = zones.map((zone): ZonePart => {
    const all = devices.filter(({ zoneId }) => zoneId === zone.id);
    return { kind: 'zone', zone, devices: restOf(all), all };
  });
  const others = restOf(devices.filter(({ zoneId }) => zoneId === null || !known.has(zoneId)));
  const parts: ZonePart[] = [
    { kind: 'favourites', zone: null, devices: first, all: first },
    ...inZones,
    { kind: 'others', zone: null, devices: others, all: others },
  ];
  return parts.filter(
    ({ kind, devices: shown, all }) => shown.length > 0 || (kind === 'zone' && (withEmpty || all.length > 0)),
  );
}
