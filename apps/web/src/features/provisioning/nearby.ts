import { lookOf, looksLike } from '@station/protocol/ble-names';
import type { Candidate, Provisioning } from '@station/protocol/provisioning';

/** A row of the list of what is near. */
export type NearRow = { candidate: Candidate; isLost: boolean };

/**
 * The rows after a change. While `isSorting` the strongest come first. Afterwards each row keeps its place under the finger: new devices come
 * at the end, and one that is lost stays until no other row is below it.
 */
export function arrange(rows: readonly NearRow[], candidates: readonly Candidate[], isSorting: boolean): NearRow[] {
  const near = new Map(candidates.map((candidate) => [candidate.address, candidate]));
  if (isSorting) return [...near.values()].sort(byStrength).map(toRow);
  const kept = rows.map((row) => {
    const candidate = near.get(row.candidate.address);
    return candidate ? toRow(candidate) : { ...row, isLost: true };
  });
  const known = new Set(rows.map(({ candidate }) => candidate.address));
  const added = [...near.values()].filter(({ address }) => !known.has(address)).sort(byStrength);
  const all = [...kept, ...added.map(toRow)];
  return all.slice(0, all.findLastIndex(({ isLost }) => !isLost) + 1);
}

const toRow = (candidate: Candidate): NearRow => ({ candidate, isLost: false });
const strength = ({ rssi }: Candidate): number => rssi ?? Number.NEGATIVE_INFINITY;
const byStrength = (a: Candidate, b: Candidate): number =>
  strength(a) === strength(b) ? 0 : strength(b) > strength(a) ? 1 : -1;

/** Addresses of devices nearby that a person may take for one another: only that person knows which is theirs. */
export function doubtfulAddresses(rows: readonly NearRow[]): ReadonlySet<string> {
  const near = rows.filter(({ isLost }) => !isLost).map(({ candidate }) => candidate);
  const looks = near.map(({ externalId, defaultName, protocol }) => ({
    id: lookOf(externalId),
    // Devices of one Improv maker may have one name, and their ids are their addresses.
    name: protocol === 'station' ? lookOf(defaultName) : null,
  }));
  const hasTwin = (index: number): boolean =>
    looks.some((other, at) => {
      const look = looks[index];
      if (at === index || look === undefined) return false;
      return looksLike(look.id, other.id) || (look.name !== null && look.name === other.name);
    });
  return new Set(near.filter((_, index) => hasTwin(index)).map(({ address }) => address));
}

export type Signal = 'strong' | 'good' | 'weak' | 'unknown';

/** In words, from dBm: below −80 writes begin to fail. */
export function signalOf(rssi: number | null): Signal {
  if (rssi === null) return 'unknown';
  return rssi >= -65 ? 'strong' : rssi >= -80 ? 'good' : 'weak';
}

export const isUnderWay = ({ status }: Provisioning): boolean =>
  status === 'queued' || status === 'writing' || status === 'waiting';

/** A failure of before the page was opened is shown for this time. */
const failureShownMs = 10 * 60_000;

/**
 * What the page shows of all provisionings: those under way, and what ended while it is open or failed shortly before; of each device the
 * latest. The oldest comes first, so that a new card moves no other.
 * @param openedAt epoch milliseconds at the station.
 */
export function shownProvisionings(
  all: readonly Provisioning[],
  { openedAt, dismissed }: { openedAt: number; dismissed: ReadonlySet<string> },
): Provisioning[] {
  const latest = new Map<string, Provisioning>();
  for (const one of all.toSorted((a, b) => a.startedAt.localeCompare(b.startedAt))) {
    latest.delete(one.externalId);
    latest.set(one.externalId, one);
  }
  return [...latest.values()].filter((one) => {
    if (isUnderWay(one)) return true;
    if (dismissed.has(one.id) || one.status === 'cancelled') return false;
    const since = one.status === 'succeeded' ? openedAt : openedAt - failureShownMs;
    return Date.parse(one.changedAt) >= since;
  });
}
