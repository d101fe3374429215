import type { Discovered } from '@station/protocol/ble-frames';
import type { Candidate } from '@station/protocol/provisioning';
import {
  byWorth,
  isLost,
  isSameDevice,
  isSettled,
  isBroadcastNow,
  type Kept,
  maxCandidates,
} from './candidate-decide.ts';

/** The cache of candidates of the replica that scans. */
export type Candidates = {
  /** @param heard null: the device does not wait to be set up (any more). */
  hear(address: Discovered['address'], heard: Candidate | null): void;
  /**
   * Drops silent candidates and tells what waits.
   * @param listeningSinceMs null: the radio does not listen.
   * @returns whether something waits to be sent.
   */
  sweep(listeningSinceMs: number | null): boolean;
  /** Tells nothing: nobody watches. */
  clear(): void;
  /** Takes over what another replica found, and sent. */
  seed(candidate: Candidate, ageMs: number): void;
  /** Tells all of them again, for a replica that started later. */
  sendWaiting(): void;
  candidates(): readonly Candidate[];
  has(address: string): boolean;
};

type Entry = Kept & { candidate: Candidate; isDirty: boolean; countedAtMs: number };

/** What is sent beyond this many at once is sent little by little: each is a message to every browser. */
const sentAtOnce = 50;
const sentPerSecond = 10;

/** Nearly a second: advertisements do not come to the millisecond. */
const countEveryMs = 900;

/** Which is sent first: one that is there to stay, then what was never sent, then what was sent longest ago. */
const byUrgency = (a: Entry, b: Entry): number =>
  Number(isSettled(b)) - Number(isSettled(a)) || (a.broadcastAtMs ?? -Infinity) - (b.broadcastAtMs ?? -Infinity) || 0;

export function createCandidates(parts: {
  send: (candidate: Candidate) => void;
  sendLost: (address: string) => void;
  monotonic: () => number;
}): Candidates {
  const { sendLost, monotonic } = parts;
  const entries = new Map<string, Entry>();

  const { tell, tellNow } = createTelling(parts);
  const drop = (address: string): void => {
    const entry = entries.get(address);
    entries.delete(address);
    if (entry !== undefined && entry.broadcastAtMs !== null) sendLost(address);
  };
  const makeRoom = (kept: Kept): boolean => {
    if (entries.size < maxCandidates) return true;
    const [address, worst] = entries.entries().reduce((a, b) => (byWorth(b[1], a[1]) < 0 ? b : a));
    if (isSettled(worst) && !isSettled(kept)) return false;
    drop(address);
    return true;
  };
  const add = (candidate: Candidate, heardAtMs: number, broadcastAtMs: number | null): void => {
    const entry = newEntry(candidate, heardAtMs, broadcastAtMs);
    if (!makeRoom(entry)) return;
    entries.set(candidate.address, entry);
    if (broadcastAtMs === null) tell(entry, true);
  };
  const update = (entry: Entry, candidate: Candidate): void => {
    const isChanged = !isSameDevice(entry.candidate, candidate);
    noteHeard(entry, candidate, monotonic());
    if (isBroadcastNow(entry, isChanged, monotonic())) tell(entry, isChanged);
    else entry.isDirty = true;
  };
  return {
    hear: (address, heard) => {
      const entry = entries.get(address);
      if (heard === null) drop(address);
      else if (entry === undefined) add(heard, monotonic(), null);
      else update(entry, heard);
    },
    sweep: (listeningSinceMs) => {
      let isWaiting = false;
      for (const [address, entry] of entries) if (isLost(entry, listeningSinceMs, monotonic())) drop(address);
      const dirty = [...entries.values()].filter((entry) => entry.isDirty).sort(byUrgency);
      for (const entry of dirty) {
        if (isBroadcastNow(entry, false, monotonic())) tell(entry, false);
        isWaiting ||= entry.isDirty;
      }
      return isWaiting;
    },
    clear: () => entries.clear(),
    seed: (candidate, ageMs) => {
      if (!entries.has(candidate.address)) add(candidate, monotonic() - Math.max(0, ageMs), monotonic());
    },
    sendWaiting: () => {
      for (const entry of entries.values()) tellNow(entry, false);
    },
    has: (address) => entries.has(address),
    candidates: () => [...entries.values()].map(({ candidate }) => candidate),
  };
}

/** Sends candidates, little by little when there are many. */
function createTelling({ send, monotonic }: { send: (candidate: Candidate) => void; monotonic: () => number }) {
  const mayTell = createAllowance(monotonic);
  const tellNow = (entry: Entry, isChanged: boolean): void => {
    entry.isDirty = false;
    if (isChanged && entry.broadcastAtMs !== null) entry.changeBroadcastAtMs = monotonic();
    entry.broadcastAtMs = monotonic();
    send(entry.candidate);
  };
  const tell = (entry: Entry, isChanged: boolean): void => {
    if (mayTell()) tellNow(entry, isChanged);
    else entry.isDirty = true;
  };
  return { tell, tellNow };
}

/** @returns whether one more may be sent now. */
function createAllowance(monotonic: () => number): () => boolean {
  let allowance = sentAtOnce;
  let allowedAtMs = monotonic();
  return () => {
    const nowMs = monotonic();
    allowance = Math.min(sentAtOnce, allowance + ((nowMs - allowedAtMs) / 1_000) * sentPerSecond);
    allowedAtMs = nowMs;
    if (allowance < 1) return false;
    allowance -= 1;
    return true;
  };
}

const newEntry = (candidate: Candidate, heardAtMs: number, broadcastAtMs: number | null): Entry => ({
  heardAtMs,
  firstHeardAtMs: heardAtMs,
  heardSeconds: 1,
  rssi: candidate.rssi,
  broadcastAtMs,
  changeBroadcastAtMs: null,
  candidate,
  isDirty: false,
  countedAtMs: heardAtMs,
});

function noteHeard(entry: Entry, candidate: Candidate, nowMs: number): void {
  entry.heardAtMs = nowMs;
  if (nowMs - entry.countedAtMs >= countEveryMs) {
    entry.heardSeconds += 1;
    entry.countedAtMs = nowMs;
  }
  // An unknown signal does not replace a known one.
  entry.candidate = { ...candidate, rssi: candidate.rssi ?? entry.rssi };
  entry.rssi = entry.candidate.rssi;
}
