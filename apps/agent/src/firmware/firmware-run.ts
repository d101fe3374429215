import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Clock } from '@station/kit/clock';
import type { AgentConditions } from '@station/kit/conditions';
import { type Disk, readText, writeDurable } from '@station/kit/durable-files';
import { createExclusiveRunner, type ExclusiveRunner } from '@station/kit/exclusive-runner';
import type { AgentLogger } from '@station/kit/logger';
import type { FirmwareEntry, FirmwareRefusal } from '@station/protocol/firmware-manifest';
import { type Cache, type CacheContents, createCache } from './firmware-cache.ts';
import type { Facts } from './firmware-decide.ts';
import { createFirmwareDelivery, type FirmwareDelivery } from './firmware-delivery.ts';
import { listPartials } from './firmware-download.ts';
import { type Attempts, createAttempts, createFetching, type Fetching } from './firmware-fetch.ts';
import { createFirmwarePoll, type FirmwarePoll, type FirmwareSource } from './firmware-poll.ts';
import type { CacheDisk, OpenDownload, OtaBackend } from './firmware-ports.ts';
import { createPatience, type Patience } from './unreadable-files.ts';

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
  /** Of the machine: what an earlier boot has written may not be on disk. */
  bootId: string;
  maxBytes: number;
  checkIntervalMs: number;
  /** FIRMWARE_MANIFEST_URL is the default: where nothing is published there, there is no firmware, and nothing wrong. */
  isUsualAddress: boolean;
  /** True while a release is being fetched: firmware then leaves it the line. */
  isLineTaken: () => boolean;
};

/** What one run of the firmware duty knows, and the rooms it works with. */
export type FirmwareRun = {
  poll: FirmwarePoll;
  patience: Patience;
  cache: Cache;
  attempts: Attempts;
  fetching: Fetching;
  handOver: FirmwareDelivery;
  contents: CacheContents;
  /** Whether it was read since the start: that nothing was seen before then says nothing. */
  isCacheRead: boolean;
  partials: string[];
  notes: FirmwareRecords;
  notesRunner: ExclusiveRunner;
  /** Of the last good manifest; null before there was one. */
  entries: FirmwareEntry[] | null;
  refused: FirmwareRefusal[];
  isManifestRejected: boolean;
  /** What the disk said to the last step that failed; null when it went well. */
  diskFault: string | null;
};

export function createRun(parts: FirmwareParts): FirmwareRun {
  const patience = createPatience();
  const cache = createCache({ ...parts, patience });
  const attempts = createAttempts(parts);
  return {
    poll: createFirmwarePoll(parts),
    patience,
    cache,
    attempts,
    fetching: createFetching({ ...parts, cache, attempts, patience }),
    handOver: createFirmwareDelivery(parts),
    contents: { items: [], files: [], damaged: [] },
    isCacheRead: false,
    partials: [],
    notes: emptyRecords,
    notesRunner: createExclusiveRunner(),
    entries: null,
    refused: [],
    isManifestRejected: false,
    diskFault: null,
  };
}

export const observe = (run: FirmwareRun, { clock, source }: FirmwareParts): Facts => ({
  nowMs: clock.monotonic(),
  wallMs: clock.now(),
  pollDueMs: run.poll.dueMs(),
  entries: run.entries,
  signedFloors: source.isSigned ? run.notes.signedFloors : {},
  items: run.contents.items,
  files: run.contents.files,
  partials: run.partials,
  attempts: run.attempts.all(),
  handedOver: run.notes.handedOver,
  types: run.handOver.types(),
  askDueMs: run.handOver.askDueMs(),
  handOvers: run.handOver.attempts(),
});

/** Reads again what is in the cache. What vouches for a firmware and cannot be read goes: the firmware is fetched anew. */
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

/** Changes the notes; resolved means on disk. One after the other: a check that somebody asks for runs beside the loop. */
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

/** `firmware.json` in DATA_DIR: what the cache itself does not tell. Losing it costs a hand-over that is repeated. */
const Notes = Type.Object({
  format: Type.Literal(1),
  /** Name → what the backend has accepted. */
  handedOver: Type.Record(
    Type.String(),
    Type.Object({ version: Type.String(), checksum: Type.String(), path: Type.Optional(Type.String()) }),
  ),
  /** Name → highest version of a manifest whose signature verified: a signed but old manifest does not go back. */
  signedFloors: Type.Record(Type.String(), Type.String()),
});
export type FirmwareRecords = Static<typeof Notes>;

export const emptyRecords: FirmwareRecords = { format: 1, handedOver: {}, signedFloors: {} };

export const recordsFile = 'firmware.json';

/** `damaged`: there is a file, and it is not believed; the notes are then empty. */
export async function readRecords(disk: Disk, dataDir: string): Promise<{ notes: FirmwareRecords; damaged: boolean }> {
  const path = join(dataDir, recordsFile);
  if ((await disk.read(path)) === null) return { notes: emptyRecords, damaged: false };
  try {
    const envelope: unknown = JSON.parse((await readText(disk, path)) ?? '');
    const good = Value.Check(Envelope, envelope) && envelope.sha256 === checksum(envelope.notes);
    if (good && Value.Check(Notes, envelope.notes)) return { notes: envelope.notes, damaged: false };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return { notes: emptyRecords, damaged: true };
}

/** Resolved means on disk. */
const writeNotes = (disk: Disk, dataDir: string, notes: FirmwareRecords): Promise<void> =>
  writeDurable(disk, join(dataDir, recordsFile), `${JSON.stringify({ sha256: checksum(notes), notes })}\n`);

const Envelope = Type.Object({ sha256: Type.String(), notes: Type.Unknown() });

const checksum = (notes: unknown): string => createHash('sha256').update(JSON.stringify(notes)).digest('hex');
