import { join } from 'node:path';
import type { Clock } from '@station/kit/clock';
import type { Disk } from '@station/kit/durable-files';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { parseJson } from '@station/kit/json';
import type { BackendLogger } from '@station/kit/logger';
import { runLoop } from '@station/kit/loop';
import { constantBackoff } from '@station/kit/retry';
import { createWaker } from '@station/kit/wakeable';
import { builtInDeviceTypes } from '@station/protocol/builtin-device-types';
import { type DeviceType, maxDeviceTypeBytes, readDeviceType } from '@station/protocol/device-types';
import type { DeviceTypeRegistry, DeviceTypeSource, TypedDevice } from '../core/type-registry.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { Database } from '../store/schema.ts';
import { openDeviceDescriptions } from './device-descriptions.ts';

/** Files that a station may have, and types of manifests. */
const maxTypes = 200;
/** A file that is added or changed counts after this time at most; likewise a type that another replica stored. */
const lookEveryMs = 2_000;

export type RunningDeviceTypes = DeviceTypeRegistry &
  AsyncDisposable & {
    /** Reads everything again: events of another replica may be lost. */
    reload(): Promise<void>;
  };

type TypesParts = {
  db: Database;
  disk: Pick<Disk, 'list' | 'read' | 'makeDirectory'>;
  /** DATA_DIR/device-types: one JSON file a type. */
  folder: string;
  events: DeviceEvents;
  /** The types are not what they were. */
  onChanged: () => void;
  clock: Clock;
  logger: BackendLogger;
};

type Found = { deviceType: DeviceType; source: DeviceTypeSource };

/** Reads a text once, while it is there: a description is not checked again at each look. */
type Reader = (name: string, text: string) => Found | null;

/**
 * The types of the station: built-in, from files and from firmware manifests. Of one name the owner's file comes first, then the built-in
 * type, then the manifest's (ADR 20). What a device says about itself counts where none of them does, and for this device alone (ADR 69).
 * Files are read again while the station runs.
 */
export async function startDeviceTypes(parts: TypesParts): Promise<RunningDeviceTypes> {
  const { db, events, clock, logger, onChanged } = parts;
  await using starting = new AsyncDisposableStack();
  const ending = new AbortController();
  const waker = createWaker(clock);
  const log = createTypeLog(logger, clock);
  const runner = createExclusiveRunner();
  const descriptionLog = {
    refused: (faults: readonly string[]): void => log.refused('handshake', faults),
    added: (deviceType: DeviceType): void => log.added(deviceType, 'handshake'),
  };
  const descriptions = starting.use(await openDeviceDescriptions({ db, events, log: descriptionLog, clock, logger }));
  const lookUp = createLook(parts, log);
  let types: ReadonlyMap<string, DeviceType> = new Map(builtInDeviceTypes.map((one) => [one.type, one]));
  let isFirst = true;
  const load = async (): Promise<void> => {
    const found = await lookUp();
    if (found === null) return;
    types = found;
    if (!isFirst) onChanged();
    isFirst = false;
  };
  await parts.disk.makeDirectory(parts.folder, 0o700);
  await load();
  isFirst = false;
  const turn = async (): Promise<number> => {
    await runner.run(load);
    return lookEveryMs;
  };
  const onFailure = ({ error }: { error: unknown }): void => logger.failed('reading device types', error);
  const backoff = constantBackoff(lookEveryMs);
  const looking = runLoop({ turn, waker, clock, signal: ending.signal, backoff, onFailure });
  starting.defer(async () => {
    ending.abort();
    await looking;
  });
  const running = starting.move();
  return {
    list: () => [...types.values()],
    find: (type) => types.get(type),
    of: (device) => types.get(device.type) ?? ofItsOwn(descriptions.find(device.id), device),
    announced: () => descriptions.all().filter(({ deviceType }) => !types.has(deviceType.type)),
    announce: async (description) => {
      try {
        if (await storeType(parts, log, description)) await runner.run(load);
      } catch (error) {
        logger.failed('storing a device type', error);
      }
    },
    describe: descriptions.take,
    reload: async () => {
      await descriptions.load();
      await runner.run(load);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** A device that was added again as another type has described the type of before. */
const ofItsOwn = (described: DeviceType | undefined, { type }: TypedDevice): DeviceType | undefined =>
  described?.type === type ? described : undefined;

/** @returns the types of files, built-in ones and those of manifests; null: they are what they were. */
function createLook(parts: TypesParts, log: TypeLog): () => Promise<ReadonlyMap<string, DeviceType> | null> {
  const files = createReader('file', log);
  const rows = createReader('manifest', null);
  let known: readonly Found[] | null = null;
  return async () => {
    const found = [...(await readFiles(parts, log, files.read)), ...(await readManifests(parts.db, rows.read))];
    files.forgetOthers();
    rows.forgetOthers();
    if (known !== null && found.length === known.length && found.every((one, index) => one === known?.[index]))
      return null;
    known = found;
    const merged = mergeTypes(found);
    for (const { deviceType, source } of found)
      if (merged.get(deviceType.type) === deviceType) log.added(deviceType, source);
    return merged;
  };
}

/** @param log null: a faulty text is left out without a word. */
function createReader(source: DeviceTypeSource, log: TypeLog | null): { read: Reader; forgetOthers(): void } {
  let before = new Map<string, { text: string; found: Found | null }>();
  let now: typeof before = new Map();
  const readAnew = (name: string, text: string): Found | null => {
    const read = readDeviceType(parseJson(text));
    if (read.kind === 'ok') return { deviceType: read.deviceType, source };
    log?.refused(name, read.faults);
    return null;
  };
  return {
    read: (name, text) => {
      const last = before.get(name);
      const entry = last?.text === text ? last : { text, found: readAnew(name, text) };
      now.set(name, entry);
      return entry.found;
    },
    forgetOthers: () => {
      before = now;
      now = new Map();
    },
  };
}

/** Of files the earlier comes first, then the built-in type, then that of a manifest. */
function mergeTypes(found: readonly Found[]): ReadonlyMap<string, DeviceType> {
  const merged = new Map<string, DeviceType>();
  const add = (deviceType: DeviceType): void => {
    if (!merged.has(deviceType.type)) merged.set(deviceType.type, deviceType);
  };
  for (const { deviceType, source } of found) if (source === 'file') add(deviceType);
  for (const deviceType of builtInDeviceTypes) add(deviceType);
  for (const { deviceType, source } of found) if (source !== 'file') add(deviceType);
  return merged;
}

async function readFiles({ disk, folder }: TypesParts, log: TypeLog, read: Reader): Promise<Found[]> {
  const names = (await disk.list(folder)).filter((name) => name.endsWith('.json')).sort();
  const found: Found[] = [];
  for (const name of names.slice(0, maxTypes)) {
    const bytes = await disk.read(join(folder, name));
    if (bytes === null) continue;
    if (bytes.length > maxDeviceTypeBytes) log.refused(name, tooLarge.faults);
    else found.push(...[read(name, Buffer.from(bytes).toString('utf8'))].filter((one) => one !== null));
  }
  return found;
}

const tooLarge = { kind: 'invalid', faults: [`It is larger than ${maxDeviceTypeBytes} bytes`] } as const;

/** A row of a newer release that this one cannot read is left out. */
async function readManifests(db: Database, read: Reader): Promise<Found[]> {
  const rows = await db.selectFrom('device_types').select(['type', 'definition']).orderBy('type').execute();
  return rows.flatMap(({ type, definition }) => read(type, definition) ?? []);
}

/** @returns whether the stored types changed. */
async function storeType({ db, clock }: TypesParts, log: TypeLog, description: unknown): Promise<boolean> {
  const definition = JSON.stringify(description) ?? '';
  const read = Buffer.byteLength(definition) > maxDeviceTypeBytes ? tooLarge : readDeviceType(description);
  if (read.kind === 'invalid') {
    log.refused('manifest', read.faults);
    return false;
  }
  const { type } = read.deviceType;
  const stored = await db.selectFrom('device_types').selectAll().where('type', '=', type).executeTakeFirst();
  if (stored?.definition === definition) return false;
  if (stored === undefined && (await countTypes(db)) >= maxTypes) {
    log.refused('manifest', [`"${type}": the station has ${maxTypes} types already`]);
    return false;
  }
  const values = { definition, updated_at: clock.now() };
  await db
    .insertInto('device_types')
    .values({ type, ...values })
    .onConflict((conflict) => conflict.column('type').doUpdateSet(values))
    .execute();
  return true;
}

async function countTypes(db: Database): Promise<number> {
  const { count } = await db
    .selectFrom('device_types')
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Many devices may send faulty descriptions, which need not be alike. */
const handshakeLogMs = 60_000;

type TypeLog = ReturnType<typeof createTypeLog>;

/** Logs each change and each fault once, not at every look. */
function createTypeLog(logger: BackendLogger, clock: Clock) {
  const refused = new Map<string, string>();
  const added = new Map<string, DeviceTypeSource>();
  let handshakeLoggedAt = -Infinity;
  return {
    refused: (source: string, faults: readonly string[]): void => {
      const reason = faults.join('; ').slice(0, 500);
      if (refused.get(source) === reason) return;
      if (source === 'handshake') {
        if (clock.monotonic() - handshakeLoggedAt < handshakeLogMs) return;
        handshakeLoggedAt = clock.monotonic();
      }
      refused.set(source, reason);
      logger.event('device_type_refused', { source, reason });
    },
    added: ({ type }: DeviceType, source: DeviceTypeSource): void => {
      if (added.get(type) === source) return;
      added.set(type, source);
      logger.event('device_type_added', { type, source });
    },
  };
}
