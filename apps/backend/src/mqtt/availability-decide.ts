/** Decides which devices are shown as offline. Pure: times are monotonic milliseconds, passed in as facts. */

export type TrackedDevice = {
  id: string;
  status: 'unknown' | 'online' | 'offline';
  /** Time of its last message of any kind; null: none since the backend started. */
  receivedMs: number | null;
  /** Time when the broker published its last will. */
  willMs: number | null;
  /** A message may be newer than the will: then only a longer silence proves offline. Unset: false. */
  isWillDoubtful?: boolean;
  /** Its gateway says whether it is online; silence says nothing of it. Unset: false. */
  isQuiet?: boolean;
};

export type AvailabilityFacts = {
  nowMs: number;
  /** Since when the station receives messages of devices without a gap; null: it does not. */
  listeningSinceMs: number | null;
  /** Since when last wills count; unset: since it listens. With replicas, a gap may lose only some of the messages. */
  willsSinceMs?: number;
  devices: Iterable<TrackedDevice>;
};

/** Contracts, section 8: three minutes without any message. */
export const silenceMs = 3 * 60_000;
/**
 * A last will followed by a message belongs to a superseded connection. A will that comes because the broker is closing is followed by
 * a gap in listening.
 */
export const willGraceMs = 3_000;
/** After such a gap, waiting messages are received first. */
export const gapGraceMs = 10_000;
/** Most devices send two heartbeats in this time. */
export const doubtfulWillGraceMs = 75_000;

/** @returns ids of devices that are offline but not yet shown as offline. */
export function decideOffline(facts: AvailabilityFacts): string[] {
  const { nowMs, listeningSinceMs, devices } = facts;
  if (listeningSinceMs === null) return [];
  const { willsSinceMs = listeningSinceMs } = facts;
  const offline: string[] = [];
  for (const { id, status, receivedMs, willMs, isWillDoubtful = false, isQuiet = false } of devices) {
    if (status === 'offline') continue;
    const isWillGood = willMs !== null && willMs >= willsSinceMs && willMs >= (receivedMs ?? willMs);
    const usualGraceMs = willMs !== null && willMs < listeningSinceMs ? gapGraceMs : willGraceMs;
    const graceMs = isWillDoubtful ? doubtfulWillGraceMs : usualGraceMs;
    const isGone = isWillGood && nowMs - Math.max(willMs, listeningSinceMs) >= graceMs;
    // Messages sent while the station did not listen are lost, so silence counts from its return.
    const quietSinceMs = Math.max(receivedMs ?? listeningSinceMs, listeningSinceMs);
    const isSilent = !isQuiet && status === 'online' && nowMs - quietSinceMs >= silenceMs;
    if (isGone || isSilent) offline.push(id);
  }
  return offline;
}
