import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '@station/kit/clock';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { EngineApi, ReadInfo } from './engine-api.ts';
import { readImageArchive } from './image-archive.ts';
import { usesContainerd } from './image-folder.ts';
import { findDifferences, lowestLayerOf, mergeLayers } from './image-tree.ts';
import { readTar } from './tar-reader.ts';

/** What a check has found. `unknown`: the engine lacks the space to read the image. */
export type Finding = { kind: 'whole' | 'absent' | 'unknown' } | ({ kind: 'damaged' } & Damage);

type Damage = {
  /** Bytes of the engine's own archive of the image, from which it can be made again; null: it is damaged too, or there is none. */
  archiveBytes: number | null;
  /** The lowest damaged layer, counted from the base; null: not known, so any of them. */
  layer: number | null;
  /** For the log: what is wrong first. */
  reason: string;
};

/** `isIdle`: reads at a quarter of the speed, because nothing waits for the answer. */
export type CheckOptions = { isIdle: boolean; signal: AbortSignal };

export type CheckParts = {
  api: Pick<EngineApi, 'call' | 'stream'>;
  info: ReadInfo;
  clock: Clock;
  /** Bytes free where the engine keeps images; null when unknown. */
  freeBytes: () => Promise<number | null>;
  /** Makes the container of the image that is never started, or finds it. */
  pin: (imageId: string) => Promise<{ kind: 'pinned'; name: string } | { kind: 'absent' | 'broken' | 'unknown' }>;
  /** Called at each piece that was read: it may take long. */
  alive: () => void;
};

const Inspected = Type.Object({
  Size: Type.Number(),
  GraphDriver: Type.Optional(
    Type.Object({ Name: Type.String(), Data: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()]) }),
  ),
});

/**
 * Reads an image to its end. What has to be read depends on where the engine keeps images, which it tells itself (GET /info):
 * a graph driver checks each layer while it exports the image, containerd's store checks nothing.
 * @throws StationError `unavailable` when the engine stops answering.
 */
export function createImageCheck(parts: CheckParts) {
  return async (imageId: string, options: CheckOptions): Promise<Finding> => {
    const { api, info } = parts;
    options.signal.throwIfAborted();
    const { status, body } = await api.call('GET', `/images/${encodeURIComponent(imageId)}/json`);
    if (status === 404 || status === 400) return { kind: 'absent' };
    const inspected = Value.Check(Inspected, body) ? body : null;
    if (usesContainerd(await info())) return checkUnpacked(parts, imageId, options);
    return checkExport(parts, imageId, inspected, options);
  };
}

const unreadable = (reason: string): Finding => ({ kind: 'damaged', archiveBytes: null, layer: null, reason });

/** The files of containerd's snapshots against the layers that they were unpacked from. */
async function checkUnpacked(parts: CheckParts, imageId: string, options: CheckOptions): Promise<Finding> {
  const archived = await whatIsRead(parts, `/images/${encodeURIComponent(imageId)}/get`, options, (content) =>
    readImageArchive(content, { withFiles: true }),
  );
  if ('fault' in archived) return unreadable(archived.fault);
  const [layers = []] = archived.value.images;
  const { bytes: archiveBytes } = archived.value;
  const pin = await parts.pin(imageId);
  if (pin.kind === 'broken')
    return { kind: 'damaged', archiveBytes, layer: null, reason: 'no container can be made of it' };
  if (pin.kind !== 'pinned') return { kind: pin.kind };
  const expected = mergeLayers(layers);
  const found = await whatIsRead(parts, `/containers/${pin.name}/export`, options, (content) =>
    findDifferences(expected, readTar(content)),
  );
  if ('fault' in found) return { kind: 'damaged', archiveBytes, layer: null, reason: found.fault };
  const [first] = found.value;
  if (first === undefined) return { kind: 'whole' };
  const layer = lowestLayerOf(found.value, layers);
  return { kind: 'damaged', archiveBytes, layer, reason: `${found.value.length} paths differ, the first is ${first}` };
}

/** Archives are a little larger than the files in them (tar rounds each up and gives it a header). */
const archivePerByte = 1.25;
/** Space to keep free for everything else on the disk while an image is read. */
const reserveBytes = 32 * 1024 * 1024;

/**
 * The export of a graph driver: it checks each layer against its digest, and refuses or stops when one is wrong. It first writes the whole image
 * to its own folder, so a lack of space looks like damage. No container is exported here: Docker 26 would keep its layers in use.
 */
async function checkExport(
  parts: CheckParts,
  imageId: string,
  inspected: Static<typeof Inspected> | null,
  options: CheckOptions,
): Promise<Finding> {
  const hasRoom = async (): Promise<boolean> => {
    const free = await parts.freeBytes();
    return free === null || free >= (inspected?.Size ?? 0) * archivePerByte + reserveBytes;
  };
  if (!(await hasRoom())) return { kind: 'unknown' };
  if (await lacksLink(inspected?.GraphDriver)) return unreadable('a layer has lost its name');
  const read = await whatIsRead(parts, `/images/${encodeURIComponent(imageId)}/get`, options, async (content) => {
    let bytes = 0;
    for await (const piece of content) bytes += piece.length;
    if (bytes === 0) throw new Error('the export is empty');
  });
  if (!('fault' in read)) return { kind: 'whole' };
  // Other programs may have used the space meanwhile.
  return (await hasRoom()) ? unreadable(read.fault) : { kind: 'unknown' };
}

/** @returns what was read, or why it could not be read to its end although the engine answers. */
async function whatIsRead<T>(
  { api, clock, alive }: CheckParts,
  path: string,
  { isIdle, signal }: CheckOptions,
  read: (content: AsyncIterable<Buffer>) => Promise<T>,
): Promise<{ value: T } | { fault: string }> {
  const { status, content } = await api.stream(path, signal);
  try {
    const paced = withPauses(content, isIdle ? clock : null, alive, signal);
    if (status === 200) return { value: await read(paced) };
    for await (const _ of paced);
    return { fault: `the engine answers ${status}` };
  } catch (error) {
    signal.throwIfAborted();
    // An engine that was stopped meanwhile throws here.
    await api.call('GET', '/version');
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

const workMs = 50;
const restPerWork = 3;

/** Slow reading slows the engine too, so this is the idle priority of both. @param clock null: without pauses. */
async function* withPauses(
  content: AsyncIterable<Buffer>,
  clock: Clock | null,
  alive: () => void,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let sinceMs = clock?.monotonic() ?? 0;
  for await (const piece of content) {
    alive();
    yield piece;
    if (clock === null) continue;
    const tookMs = clock.monotonic() - sinceMs;
    if (tookMs < workMs) continue;
    await clock.sleep(tookMs * restPerWork, signal);
    sinceMs = clock.monotonic();
  }
}

/**
 * Whether a layer has lost the file that names it to the layers above (overlay2: `link`, 26 characters). Such an image can be inspected and
 * exported, but no other image can be stored on that layer.
 */
async function lacksLink(driver: Static<typeof Inspected>['GraphDriver']): Promise<boolean> {
  if (driver?.Name !== 'overlay2') return false;
  const { UpperDir, LowerDir } = driver.Data ?? {};
  const folders = [UpperDir, ...(LowerDir?.split(':') ?? [])].filter((folder) => folder !== undefined);
  for (const folder of folders) {
    const link = await stat(join(dirname(folder), 'link')).catch(() => null);
    if (link?.size === 0) return true;
  }
  return false;
}
