import { join } from 'node:path';
import type { Clock } from '@station/kit/clock';
import type { Disk } from '@station/kit/durable-files';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { BackendLogger } from '@station/kit/logger';
import { runLoop } from '@station/kit/loop';
import { constantBackoff } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import { createWaker } from '@station/kit/wakeable';
import { builtInDeviceTypes } from '@station/protocol/builtin-device-types';
import { type DeviceType, maxDeviceTypeBytes, readDeviceType } from '@station/protocol/device-types';
import type { DeviceTypeRegistry, DeviceTypeSource } from '../core/device-types.ts';
import type { Database } from '../store/schema.ts';

/** Types that a station may have in addition to the built-in ones. */
const maxTypes = 200;
/** A file that is added or changed counts after this time at most; likewise a type that another replica stored. */
const lookEveryMs = 2_000;

export type RunningDeviceTypes = DeviceTypeRegistry & AsyncDisposable;

type TypesParts = {
  db: Database;
  disk: Pick<Disk, 'list' | 'read' | 'makeDirectory'>;
  /** DATA_DIR/device-types: one JSON file a type. */
  folder: string;
  /** The types are not what they were. */
  onChanged: () => void;
  clock: Clock;
  logger: BackendLogger;
};

type Found = { deviceType: DeviceType; source: DeviceTypeSource };

/**
 * The types of the station: built-in, from files, from firmware manifests and from handshakes. Of one name the owner's file comes first,
 * then the built-in type, then the manifest's, then the handshake's (ADR 20). Files are read again while the station runs.
 */
export async function startDeviceTypes(parts: TypesParts): Promise<RunningDeviceTypes> {
  const { clock, logger, onChanged } = parts;
  const ending = new AbortController();
  const waker = createWaker(clock);
  const log = createTypeLog(logger, clock);
  const line = createExclusiveRunner();
  let types: ReadonlyMap<string, DeviceType> = new Map(builtInDeviceTypes.map((one) => [one.type, one]));
  let known = '';
  const load = async (): Promise<void> => {
    const [files, announced] = [await readFiles(parts, log), await readAnnounced(parts.db)];
    const merged = mergeTypes(files, announced);
    const content = JSON.stringify([...merged.values()]);
    if (content === known) return;
    for (const { deviceType, source } of [...files, ...announced]) {
      if (merged.get(deviceType.type) === deviceType) log.added(deviceType, source);
    }
    const isFirst = known === '';
    [types, known] = [merged, content];
    if (!isFirst) onChanged();
  };
  await parts.disk.makeDirectory(parts.folder, 0o700);
  await load();
  const turn = async (): Promise<number> => {
    await line.run(load);
    return lookEveryMs;
  };
  const onFailure = ({ error }: { error: unknown }): void =>
    logger.event('unexpected_error', { where: 'reading device types', message: describeError(error) });
  const backoff = constantBackoff(lookEveryMs);
  const looking = runLoop({ turn, waker, clock, signal: ending.signal, backoff, onFailure });
  return {
    list: () => [...types.values()],
    find: (type) => types.get(type),
    announce: async (description, source) => {
      try {
        if (await storeType(parts, log, description, source)) await line.run(load);
      } catch (error) {
        logger.event('unexpected_error', { where: 'storing a device type', message: describeError(error) });
      }
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await looking;
    },
  };
}

/** Earlier entries come first. */
function mergeTypes(files: readonly Found[], announced: readonly Found[]): ReadonlyMap<string, DeviceType> {
  const merged = new Map<string, DeviceType>();
  const builtIn = builtInDeviceTypes.map((deviceType) => ({ deviceType }));
  for (const { deviceType } of [...files, ...builtIn, ...announced]) {
    if (!merged.has(deviceType.type)) merged.set(deviceType.type, deviceType);
  }
  return merged;
}

async function readFiles({ disk, folder }: TypesParts, log: TypeLog): Promise<Found[]> {
  const names = (await disk.list(folder)).filter((name) => name.endsWith('.json')).sort();
  const found: Found[] = [];
  for (const name of names.slice(0, maxTypes)) {
    const bytes = await disk.read(join(folder, name));
    if (bytes === null) continue;
    const read = bytes.length > maxDeviceTypeBytes ? tooLarge : readDeviceType(parseJson(bytes));
    if (read.kind === 'ok') found.push({ deviceType: read.deviceType, source: 'file' });
    else log.refused(name, read.faults);
  }
  return found;
}

const tooLarge = { kind: 'invalid', faults: [`It is larger than ${maxDeviceTypeBytes} bytes`] } as const;

/** Undefined when it is not JSON. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** What a manifest says comes before what a device says. A row of a newer release that this one cannot read is left out. */
async function readAnnounced(db: Database): Promise<Found[]> {
  const rows = await db.selectFrom('device_types').selectAll().orderBy('source', 'desc').orderBy('type').execute();
  return rows.flatMap(({ definition, source }): Found[] => {
    const read = readDeviceType(parseJson(Buffer.from(definition)));
    return read.kind === 'ok' ? [{ deviceType: read.deviceType, source }] : [];
  });
}

/** @returns whether the stored types changed. */
async function storeType(
  { db, clock }: TypesParts,
  log: TypeLog,
  description: unknown,
  source: 'manifest' | 'handshake',
): Promise<boolean> {
  const definition = JSON.stringify(description) ?? '';
  const read = Buffer.byteLength(definition) > maxDeviceTypeBytes ? tooLarge : readDeviceType(description);
  if (read.kind === 'invalid') {
    log.refused(source, read.faults);
    return false;
  }
  const { type } = read.deviceType;
  const stored = await db.selectFrom('device_types').selectAll().where('type', '=', type).executeTakeFirst();
  if (stored?.definition === definition && stored.source === source) return false;
  if (stored?.source === 'manifest' && source === 'handshake') return false;
  if (stored === undefined && (await countTypes(db)) >= maxTypes) {
    log.refused(source, [`"${type}": the station has ${maxTypes} types already`]);
    return false;
  }
  const values = { definition, source, updated_at: clock.now() };
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
