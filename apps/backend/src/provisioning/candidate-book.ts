import type { Discovered } from '@station/protocol/ble-frames';
import type { Candidate } from '@station/protocol/provisioning';
import { byWorth, isLost, isSameDevice, isToldNow, type Kept, maxCandidates } from './candidate-decide.ts';

/** The cache of candidates of the replica that scans. */
export type CandidateBook = {
  /** @param heard null: the device does not wait to be set up (any more). */
  hear(address: Discovered['address'], heard: Candidate | null): void;
  /**
   * Drops silent candidates and tells what waits.
   * @param listeningSinceMs null: the radio does not listen.
   * @returns whether something waits to be told.
   */
  sweep(listeningSinceMs: number | null): boolean;
  /** Tells nothing: nobody watches. */
  clear(): void;
  /** Takes over what another replica found, and told. */
  seed(candidate: Candidate, ageMs: number): void;
  /** Tells all of them again, for a replica that started later. */
  retell(): void;
  candidates(): readonly Candidate[];
};

type Entry = Kept & { candidate: Candidate; isDirty: boolean };

export function createCandidateBook(parts: {
  tell: (candidate: Candidate) => void;
  tellLost: (address: string) => void;
  monotonic: () => number;
}): CandidateBook {
  const { tell, tellLost, monotonic } = parts;
  const entries = new Map<string, Entry>();

  const tellNow = (entry: Entry, isChanged: boolean): void => {
    entry.isDirty = false;
    if (isChanged && entry.toldAtMs !== null) entry.changeToldAtMs = monotonic();
    entry.toldAtMs = monotonic();
    tell(entry.candidate);
  };
  const drop = (address: string): void => {
    const entry = entries.get(address);
    entries.delete(address);
    if (entry !== undefined && entry.toldAtMs !== null) tellLost(address);
  };
  const makeRoom = (kept: Kept): boolean => {
    if (entries.size < maxCandidates) return true;
    const [address, worst] = entries.entries().reduce((a, b) => (byWorth(b[1], a[1]) < 0 ? b : a));
    if (byWorth(kept, worst) < 0) return false;
    drop(address);
    return true;
  };
  const add = (candidate: Candidate, heardAtMs: number, toldAtMs: number | null): void => {
    const kept = { heardAtMs, rssi: candidate.rssi, toldAtMs, changeToldAtMs: null };
    if (!makeRoom(kept)) return;
    const entry = { ...kept, candidate, isDirty: false };
    entries.set(candidate.address, entry);
    if (toldAtMs === null) tellNow(entry, true);
  };
  const update = (entry: Entry, candidate: Candidate): void => {
    const isChanged = !isSameDevice(entry.candidate, candidate);
    entry.heardAtMs = monotonic();
    // An unknown signal does not replace a known one.
    entry.candidate = { ...candidate, rssi: candidate.rssi ?? entry.rssi };
    entry.rssi = entry.candidate.rssi;
    if (isToldNow(entry, isChanged, monotonic())) tellNow(entry, isChanged);
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
      for (const [address, entry] of entries) {
        if (isLost(entry, listeningSinceMs, monotonic())) drop(address);
        else if (entry.isDirty && isToldNow(entry, false, monotonic())) tellNow(entry, false);
        isWaiting ||= entry.isDirty;
      }
      return isWaiting;
    },
    clear: () => entries.clear(),
    seed: (candidate, ageMs) => {
      if (!entries.has(candidate.address)) add(candidate, monotonic() - Math.max(0, ageMs), monotonic());
    },
    retell: () => {
      for (const entry of entries.values()) tellNow(entry, false);
    },
    candidates: () => [...entries.values()].map(({ candidate }) => candidate),
  };
}
