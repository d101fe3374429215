import type { Device } from '@station/protocol/devices';
import { hasLowBattery } from '../../api/devices.ts';
import { find, findable } from '../../ui/find-decide.ts';

/* Which devices the list shows, and in which order. The choice is kept in the address of the page. */

export const marks = ['offline', 'battery', 'faulty', 'firmware'] as const;
/** Something about a device that may need attention. */
export type Mark = (typeof marks)[number];
export const sortKeys = ['name', 'zone', 'type', 'seen', 'firmware'] as const;
export type SortKey = (typeof sortKeys)[number];

export type ListChoice = {
  text: string;
  /** A device is shown when it has one of them; none: all devices. */
  marks: readonly Mark[];
  /** Id of a zone, `none` for devices without one, null for all. */
  zone: string | null;
  type: string | null;
  sort: SortKey;
  descending: boolean;
};

export const noZone = 'none';

/** An unknown word in the address counts as left out. */
export function readChoice(search: URLSearchParams): ListChoice {
  const only = (search.get('only') ?? '').split(',');
  const sort = search.get('sort') ?? '';
  return {
    text: search.get('text') ?? '',
    marks: marks.filter((mark) => only.includes(mark)),
    zone: search.get('zone') || null,
    type: search.get('type') || null,
    sort: sortKeys.find((key) => key === sort) ?? 'name',
    descending: search.get('order') === 'down',
  };
}

/** What is left out is as usual, so that the address stays short. */
export function writeChoice({ text, marks: only, zone, type, sort, descending }: ListChoice): URLSearchParams {
  const all = {
    text,
    only: only.join(','),
    zone: zone ?? '',
    type: type ?? '',
    sort: sort === 'name' ? '' : sort,
    order: descending ? 'down' : '',
  };
  return new URLSearchParams(Object.entries(all).filter(([, value]) => value !== ''));
}

export const isFiltered = ({ text, marks: only, zone, type }: ListChoice): boolean =>
  text.trim() !== '' || only.length > 0 || zone !== null || type !== null;

/** What the list knows of a device besides its own data. */
export type Listed = {
  device: Device;
  zoneName: string | null;
  typeName: string;
  /** A newer firmware that it could get. */
  offered: string | null;
};

const has: Record<Mark, (listed: Listed) => boolean> = {
  offline: ({ device }) => device.status === 'offline',
  battery: ({ device }) => hasLowBattery(device),
  faulty: ({ device }) => device.fault !== null,
  firmware: ({ offered }) => offered !== null,
};

/** How many devices have each mark. */
export const countMarks = (all: readonly Listed[]): Record<Mark, number> => ({
  offline: all.filter(has.offline).length,
  battery: all.filter(has.battery).length,
  faulty: all.filter(has.faulty).length,
  firmware: all.filter(has.firmware).length,
});

/** @param locale decides the order of letters */
export function choose(all: readonly Listed[], choice: ListChoice, locale: string): Listed[] {
  const { text, marks: only, zone, type, descending } = choice;
  const fitting = all.filter(
    (one) =>
      (only.length === 0 || only.some((mark) => has[mark](one))) &&
      (zone === null || (one.zoneName === null ? zone === noZone : one.device.zoneId === zone)) &&
      (type === null || one.device.type === type),
  );
  const found = text.trim() === '' ? fitting : findIn(fitting, text);
  const compare = new Intl.Collator(locale, { numeric: true }).compare;
  const sign = descending ? -1 : 1;
  return found.toSorted((one, other) => {
    const a = keyOf(one, choice.sort);
    const b = keyOf(other, choice.sort);
    // What is not known comes last in both directions.
    if (a === null || b === null) return Number(a === null) - Number(b === null) || byName(one, other, compare);
    return sign * compare(a, b) || byName(one, other, compare);
  });
}

const byName = (one: Listed, other: Listed, compare: Intl.Collator['compare']): number =>
  compare(one.device.name, other.device.name);

function findIn(listed: readonly Listed[], text: string): Listed[] {
  const entries = listed.map((one) => ({
    one,
    title: one.device.name,
    words: `${one.typeName} ${one.device.externalId}`,
    detail: one.zoneName ?? undefined,
  }));
  return find(findable(entries), text).map(({ one }) => one);
}

function keyOf({ device, zoneName, typeName }: Listed, key: SortKey): string | null {
  const { name, lastSeenAt, firmwareVersion } = device;
  return { name, zone: zoneName, type: typeName, seen: lastSeenAt, firmware: firmwareVersion }[key];
}
