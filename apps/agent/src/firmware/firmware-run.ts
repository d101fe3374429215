import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Clock } from '@station/kit/clock';
import type { AgentConditions } from '@station/kit/conditions';
import { type Disk, readText, writeDurable } from '@station/kit/durable-files';
import { createExclusiveRunner, type ExclusiveRunner } from '@station/kit/exclusive-runner';
import { parseAs } from '@station/kit/json';
import type { AgentLogger } from '@station/kit/logger';
import type { FirmwareEntry, FirmwareRefusal } from '@station/protocol/firmware-manifest';
import { type Cache, type CacheContents, createCache } from './firmware-cache.ts';
import type { Facts } from './firmware-decide.ts';
import { createFirmwareDelivery, type FirmwareDelivery } from './firmware-delivery.ts';
import { listPartials } from './firmware-download.ts';
import { type Attempts, createAttempts, createFetching, type Fetching } from './firmware-fetch.ts';
import { createFirmwarePoll, type FirmwarePoll, type FirmwareSource } from './firmware-poll.ts';
import type { CacheDisk, OpenDownload, OtaBackend } from './firmware-ports.ts';
import { createTolerantRead, type TolerantRead } from './unreadable-files.ts';

export type FirmwareParts = {
  source: FirmwareSource;
  disk: CacheDisk;
  open: OpenDownload;
  backend: OtaBackend;
  conditions: AgentConditions;
  clock: Clock;
  logger: AgentLogger;
  /** Uniform in [0, 1). */
  random: () => number;
  /** FIRMWARE_CACHE_DIR and DATA_DIR. */
  directory: string;
  dataDir: string;
  /** FIRMWARE_FOLDER: URL path under which the reverse proxy serves `directory`. */
  folder: string;
  /** The machine's boot id: writes of an earlier boot may not be on disk. */
  bootId: string;
  maxBytes: number;
  checkIntervalMs: number;
  /** FIRMWARE_MANIFEST_URL is the default: a missing manifest then means no firmware, not a fault. */
  isUsualAddress: boolean;
  /** Whether the wall clock is right; null: nobody knows. */
  isClockRight: () => Promise<boolean | null>;
  /** Whether updates are installed automatically. */
  isAutomatic: () => boolean;
  /** True while a release is being fetched: firmware downloads then wait. */
  isLineTaken: () => boolean;
};

/** The state of one run of the firmware duty, and the parts it uses. */
export type FirmwareRun = {
  poll: FirmwarePoll;
  tolerantRead: TolerantRead;
  cache: Cache;
  attempts: Attempts;
  fetching: Fetching;
  handOver: FirmwareDelivery;
  contents: CacheContents;
  /** Whether the cache was read since the start; before that an empty list means nothing. */
  isCacheRead: boolean;
  partials: string[];
  notes: FirmwareRecords;
  notesRunner: ExclusiveRunner;
  /** Of the last valid manifest; null before the first. */
  entries: FirmwareEntry[] | null;
  refused: FirmwareRefusal[];
  /** Descriptions of device types in the last valid manifest. */
  deviceTypes: readonly unknown[];
  isManifestRejected: boolean;
  isClockRight: boolean;
  /** The disk's error of the last failed step; null after a success. */
  diskFault: string | null;
};

export function createRun(parts: FirmwareParts): FirmwareRun {
  const tolerantRead = createTolerantRead();
  const cache = createCache({ ...parts, tolerantRead });
  const attempts = createAttempts(parts);
  return {
    poll: createFirmwarePoll(parts),
    tolerantRead,
    cache,
    attempts,
    fetching: createFetching({ ...parts, cache, attempts, tolerantRead }),
    handOver: createFirmwareDelivery({ ...parts, needsApproval: () => needsApproval(parts) }),
    contents: { items: [], files: [], damaged: [] },
    isCacheRead: false,
    partials: [],
    notes: emptyRecords,
    notesRunner: createExclusiveRunner(),
    entries: null,
    refused: [],
    deviceTypes: [],
    isManifestRejected: false,
    isClockRight: false,
    diskFault: null,
  };
}

/** Somebody decides on updates, or could have changed this one. */
const needsApproval = ({ isAutomatic, source }: FirmwareParts): boolean => source.isForgeable || !isAutomatic();

export const observe = (run: FirmwareRun, parts: FirmwareParts): Facts => ({
  nowMs: parts.clock.monotonic(),
  wallMs: run.isClockRight ? parts.clock.now() : null,
  pollDueMs: run.poll.dueMs(),
  entries: run.entries,
  signedFloors: parts.source.isSigned ? run.notes.signedFloors : {},
  describesTypes: run.deviceTypes.length > 0,
  items: run.contents.items,
  files: run.contents.files,
  partials: run.partials,
  attempts: run.attempts.all(),
  handedOver: run.notes.handedOver,
  needsApproval: needsApproval(parts),
  types: run.handOver.types(),
  askDueMs: run.handOver.askDueMs(),
  handOvers: run.handOver.attempts(),
});

/** Reads the cache again. Unreadable metadata is removed, and its firmware is fetched again. */
export async function look(run: FirmwareRun, { disk, directory, logger }: FirmwareParts): Promise<void> {
  run.contents = await run.cache.read();
  run.isCacheRead = true;
  for (const { file, reason, isLost } of run.contents.damaged) {
    if (!isLost) continue;
    await run.cache.removeMetadata(file);
    logger.event('state_repaired', { file, reason });
  }
  run.partials = await listPartials(disk, directory);
}

/** Changes the records; resolved means on disk. Serialised: a requested check runs in parallel to the loop. */
export const changeRecords = (
  run: FirmwareRun,
  { disk, dataDir }: Pick<FirmwareParts, 'disk' | 'dataDir'>,
  change: (notes: FirmwareRecords) => Partial<FirmwareRecords>,
): Promise<void> =>
  run.notesRunner.run(async () => {
    const notes = { ...run.notes, ...change(run.notes) };
    await writeNotes(disk, dataDir, notes);
    run.notes = notes;
  });

export const isPending = (run: FirmwareRun): boolean =>
  run.handOver.isPending(run.contents.items, run.notes.handedOver);

/** `firmware.json` in DATA_DIR: what the cache does not contain. If it is lost, hand-overs are repeated. */
const Notes = Type.Object({
  format: Type.Literal(1),
  /** Name → what the backend has accepted. */
  handedOver: Type.Record(
    Type.String(),
    Type.Object({ version: Type.String(), checksum: Type.String(), path: Type.Optional(Type.String()) }),
  ),
  /** Name → highest version of a manifest with a valid signature: a signed but old manifest is refused. */
  signedFloors: Type.Record(Type.String(), Type.String()),
});
export type FirmwareRecords = Static<typeof Notes>;

export const emptyRecords: FirmwareRecords = { format: 1, handedOver: {}, signedFloors: {} };

export const recordsFile = 'firmware.json';

/** `damaged`: the file exists but is invalid; the records are then empty. */
export async function readRecords(disk: Disk, dataDir: string): Promise<{ notes: FirmwareRecords; damaged: boolean }> {
  const path = join(dataDir, recordsFile);
  if ((await disk.read(path)) === null) return { notes: emptyRecords, damaged: false };
  const envelope = parseAs(Envelope, await readText(disk, path));
  const isGood = envelope !== null && envelope.sha256 === checksum(envelope.notes);
  return isGood && Value.Check(Notes, envelope.notes)
    ? { notes: envelope.notes, damaged: false }
    : { notes: emptyRecords, damaged: true };
}

/** Resolved means on disk. */
const writeNotes = (disk: Disk, dataDir: string, notes: FirmwareRecords): Promise<void> =>
  writeDurable(disk, join(dataDir, recordsFile), `${JSON.stringify({ sha256: checksum(notes), notes })}\n`);

const Envelope = Type.Object({ sha256: Type.String(), notes: Type.Unknown() });

const checksum = (notes: unknown): string => createHash('sha256').update(JSON.stringify(notes)).digest('hex');
