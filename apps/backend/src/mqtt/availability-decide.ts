/** Which devices are to be shown as offline. Pure: times are monotonic milliseconds, and facts. */

export type HeardDevice = {
  id: string;
  status: 'unknown' | 'online' | 'offline';
  /** Its last word of any kind; null: none since the backend started. */
  heardMs: number | null;
  /** The broker published its last will. */
  willMs: number | null;
  /** It may have spoken after its will already: then only a longer silence tells. Unset: not so. */
  isWillDoubtful?: boolean;
};

export type AvailabilityFacts = {
  nowMs: number;
  /** Since when the station hears what devices say without a gap; null: it does not. */
  listeningSinceMs: number | null;
  /** Since when last wills count; unset: since it listens. With other replicas there are gaps in which only some words are not heard. */
  willsSinceMs?: number;
  devices: Iterable<HeardDevice>;
};

/** Contracts, section 8: three minutes without a heartbeat. */
export const silenceMs = 3 * 60_000;
/**
 * A will that is followed by a word is of a connection that the device had replaced already; and one that comes because the broker is
 * ending is followed by a gap in listening.
 */
export const willGraceMs = 3_000;
/** After such a gap, what waited is heard first. */
export const gapGraceMs = 10_000;
/** Most devices let their heartbeat be heard twice in this time. */
export const doubtfulWillGraceMs = 75_000;

/** @returns ids of devices that are offline but not shown so. */
export function decideOffline(facts: AvailabilityFacts): string[] {
  const { nowMs, listeningSinceMs, devices } = facts;
  if (listeningSinceMs === null) return [];
  const { willsSinceMs = listeningSinceMs } = facts;
  const offline: string[] = [];
  for (const { id, status, heardMs, willMs, isWillDoubtful = false } of devices) {
    if (status === 'offline') continue;
    const isWillGood = willMs !== null && willMs >= willsSinceMs && willMs >= (heardMs ?? willMs);
    const usualGraceMs = willMs !== null && willMs < listeningSinceMs ? gapGraceMs : willGraceMs;
    const graceMs = isWillDoubtful ? doubtfulWillGraceMs : usualGraceMs;
    const isGone = isWillGood && nowMs - Math.max(willMs, listeningSinceMs) >= graceMs;
    // What was said while nobody listened cannot be held against it.
    const quietSinceMs = Math.max(heardMs ?? listeningSinceMs, listeningSinceMs);
    const isSilent = status === 'online' && nowMs - quietSinceMs >= silenceMs;
    if (isGone || isSilent) offline.push(id);
  }
  return offline;
}
