import type { FirmwareEntry, FirmwareRefusal } from '@station/protocol/firmware-manifest';
import { type OtaDeviceTypes, parseFirmwareName } from '@station/protocol/firmware';
import { compareVersions, parseVersion } from '@station/protocol/version';
import { ownValue } from '@station/protocol/own-value';

/** A firmware named by the cache's metadata: the one that devices get. */
export type CachedFirmware = {
  name: string;
  version: string;
  file: string;
  /** URL path at which the reverse proxy serves it. */
  path: string;
  checksum: string;
  size: number;
  downloadedAt: string;
  chip: string | null;
  /** As the image's descriptor names it. */
  project: string | null;
  minVersion: string | null;
};

/** A complete file in the cache, whether metadata names it or not. */
export type CachedFile = { name: string; version: string };

/** The failed fetches of an entry so far. */
export type Attempt = {
  /** `refused`: the file must not reach a device; `failed`: it did not arrive. */
  kind: 'failed' | 'refused' | 'disk_full';
  reason: string;
  failures: number;
  /** Monotonic time of the next try. */
  dueMs: number;
};

/** The failed hand-overs of an item so far: an item that the backend refuses must not block the others. */
export type HandOverAttempt = {
  failures: number;
  /** Monotonic time of the next try. */
  dueMs: number;
  reason: string;
};

/** What was handed over, as in the records. */
export type HandedOver = Readonly<Record<string, { version: string; checksum: string; path?: string }>>;

export type Facts = {
  /** Monotonic. */
  nowMs: number;
  /** Wall clock, milliseconds since the epoch; null while nobody knows whether it is right. */
  wallMs: number | null;
  pollDueMs: number;
  /** Entries of the last good manifest; null before there was one. */
  entries: readonly FirmwareEntry[] | null;
  /** Name → highest version that a signed manifest named. */
  signedFloors: Readonly<Record<string, string>>;
  /** Whether the manifest describes device types, which the backend must get. */
  describesTypes: boolean;
  items: readonly CachedFirmware[];
  files: readonly CachedFile[];
  /** Unfinished downloads: their checksums, in hex. */
  partials: readonly string[];
  /** By {@link attemptKey}. */
  attempts: ReadonlyMap<string, Attempt>;
  handedOver: HandedOver;
  /** Whether a person must approve what is handed over. */
  needsApproval: boolean;
  /** The last answer of the backend; null before the first. */
  types: OtaDeviceTypes | null;
  /** Monotonic time at which to ask the backend next. */
  askDueMs: number;
  /** Hand-overs that failed, by {@link attemptKey}. */
  handOvers: ReadonlyMap<string, HandOverAttempt>;
};

export type Step =
  | { kind: 'poll' }
  | { kind: 'ask_backend' }
  | { kind: 'hand_over'; item: CachedFirmware }
  | { kind: 'remove_old'; file: CachedFile }
  | { kind: 'remove_partial'; checksum: string }
  | { kind: 'fetch'; entry: FirmwareEntry }
  | { kind: 'wait'; untilMs: number };

/** How long an old file is kept at most for devices that have not reported the new version (contracts, section 2). */
export const oldKeptMs = 30 * 24 * 3600_000;
/** An older time was written by a clock that was not set yet, so it gives no age. */
const earliestMs = Date.parse('2025-01-01T00:00:00.000Z');

/**
 * The next step. Quick steps come before slow ones: a slow download delays no hand-over that is due before it.
 */
export function decide(facts: Facts): Step {
  const { nowMs } = facts;
  if (facts.pollDueMs <= nowMs) return { kind: 'poll' };
  const backend = decideBackend(facts);
  if (backend.kind !== 'wait') return backend;
  const old = facts.files.find((file) => isOld(file, facts));
  if (old) return { kind: 'remove_old', file: old };
  const unwanted = facts.partials.find((checksum) => !isWantedPartial(checksum, facts));
  if (unwanted !== undefined) return { kind: 'remove_partial', checksum: unwanted };
  const wanted = (facts.entries ?? []).filter((entry) => chooseEntry(entry, facts).kind === 'fetch');
  const dueOf = (entry: FirmwareEntry): number => facts.attempts.get(attemptKey(entry))?.dueMs ?? -Infinity;
  // The item with the fewest failures goes first: one that always fails must not starve the others.
  const [next] = wanted
    .filter((entry) => dueOf(entry) <= nowMs)
    .sort((a, b) => failuresOf(a, facts) - failuresOf(b, facts) || needOf(b, facts) - needOf(a, facts));
  if (next) return { kind: 'fetch', entry: next };
  const waits = [facts.pollDueMs, ...wanted.map(dueOf), backend.untilMs];
  return { kind: 'wait', untilMs: Math.min(...waits) };
}

/** 1: the station has devices of the type. Firmware of other types is fetched too, so that a new device gets it at once. */
const needOf = ({ name }: FirmwareEntry, { types }: Facts): number => {
  const isOf = (type: string): boolean => type === name || type === parseFirmwareName(name).type;
  return types?.some(({ type, installed }) => installed.length > 0 && isOf(type)) === true ? 1 : 0;
};

/** Keeps the backend's records equal to the cache: asks what it knows, hands over the rest, and asks again periodically. */
function decideBackend(facts: Facts): Step & { kind: 'ask_backend' | 'hand_over' | 'wait' } {
  const { types, items, nowMs, askDueMs, handOvers } = facts;
  if (items.length === 0 && !facts.describesTypes) return { kind: 'wait', untilMs: Infinity };
  if (askDueMs <= nowMs) return { kind: 'ask_backend' };
  const missing = types === null ? [] : items.filter((item) => !isHandedOver(item, { ...facts, types }));
  const dueOf = (item: CachedFirmware): number => handOvers.get(attemptKey(item))?.dueMs ?? -Infinity;
  const failuresOf = (item: CachedFirmware): number => handOvers.get(attemptKey(item))?.failures ?? 0;
  const [next] = missing.filter((item) => dueOf(item) <= nowMs).sort((a, b) => failuresOf(a) - failuresOf(b));
  if (next) return { kind: 'hand_over', item: next };
  return { kind: 'wait', untilMs: Math.min(askDueMs, ...missing.map(dueOf)) };
}

/** Both sides must have the record: the backend, or the agent, may have been restored to an older state. */
export function isHandedOver(
  item: CachedFirmware,
  { handedOver, types, needsApproval }: Pick<Facts, 'handedOver' | 'needsApproval'> & { types: OtaDeviceTypes },
): boolean {
  const noted = ownValue(handedOver, item.name);
  // With another FIRMWARE_FOLDER the backend has to learn the new path.
  if (noted?.version !== item.version || noted.checksum !== item.checksum || noted.path !== item.path) return false;
  const known = types.find(({ type }) => type === item.name);
  const cached = known?.cached ?? null;
  if (cached === null || order(cached, item.version) < 0) return false;
  return cached !== item.version || (known?.needsApproval ?? needsApproval) === needsApproval;
}

export type EntryChoice = { kind: 'current' } | { kind: 'fetch' } | { kind: 'refused'; reason: string };

/** Whether an entry must be fetched: only newer versions, and never other content under a cached version. */
export function chooseEntry(
  entry: FirmwareEntry,
  { items, signedFloors }: Pick<Facts, 'items' | 'signedFloors'>,
): EntryChoice {
  const floor = ownValue(signedFloors, entry.name) ?? null;
  if (floor !== null && order(entry.version, floor) < 0) {
    return { kind: 'refused', reason: `signed, but older than ${floor}, which was offered before` };
  }
  const item = items.find(({ name }) => name === entry.name);
  if (!item) return { kind: 'fetch' };
  if (item.version === entry.version) {
    if (item.checksum === entry.checksum) return { kind: 'current' };
    return {
      kind: 'refused',
      reason: `${entry.version} is already cached with other content; changed content needs a new version`,
    };
  }
  if (order(entry.version, item.version) > 0) return { kind: 'fetch' };
  return { kind: 'refused', reason: `not newer than the cached ${item.version}` };
}

/** Entries that are not fetched, and why: faulty ones, and older versions. */
export const refusedEntries = (
  ofManifest: readonly FirmwareRefusal[],
  facts: Pick<Facts, 'entries' | 'items' | 'signedFloors'>,
): FirmwareRefusal[] => [
  ...ofManifest,
  ...(facts.entries ?? []).flatMap((entry) => {
    const choice = chooseEntry(entry, facts);
    return choice.kind === 'refused' ? [{ name: entry.name, version: entry.version, reason: choice.reason }] : [];
  }),
];

/** Fetched images that must not reach a device. */
export const refusedImages = ({ entries, attempts }: Pick<Facts, 'entries' | 'attempts'>): FirmwareRefusal[] =>
  (entries ?? []).flatMap((entry) => {
    const attempt = attempts.get(attemptKey(entry));
    return attempt?.kind === 'refused' ? [{ name: entry.name, version: entry.version, reason: attempt.reason }] : [];
  });

/** New content under the same version is a new attempt. */
export const attemptKey = ({ name, version, checksum }: Pick<FirmwareEntry, 'name' | 'version' | 'checksum'>): string =>
  `${name}@${version} ${checksum}`;

const failuresOf = (entry: FirmwareEntry, facts: Facts): number => facts.attempts.get(attemptKey(entry))?.failures ?? 0;

/**
 * A file is old when the backend knows a newer version of its name and every device reports that one, or after 30 days of a clock
 * that is known to be right. A newer file without metadata is not old.
 */
function isOld({ name, version }: CachedFile, { items, types, wallMs }: Facts): boolean {
  const item = items.find((each) => each.name === name);
  if (!item || item.version === version || order(version, item.version) > 0) return false;
  const sinceMs = Date.parse(item.downloadedAt);
  if (wallMs !== null && sinceMs >= earliestMs && wallMs - sinceMs > oldKeptMs) return true;
  const known = types?.find(({ type }) => type === name);
  return known?.cached === item.version && known.installed.every((installed) => installed === item.version);
}

/** Whether the download is still needed; before the manifest was read nothing is removed. */
const isWantedPartial = (checksum: string, facts: Facts): boolean =>
  facts.entries === null ||
  facts.entries.some((entry) => entry.checksum === `sha256:${checksum}` && chooseEntry(entry, facts).kind === 'fetch');

function order(a: string, b: string): number {
  const left = parseVersion(a);
  const right = parseVersion(b);
  if (left && right) return compareVersions(left, right);
  return left ? 1 : right ? -1 : 0;
}
