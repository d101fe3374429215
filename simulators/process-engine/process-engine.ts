import { StationError } from '@station/kit/station-error';
import type { StackServices } from '@station/protocol/release-manifest';
import type {
  ContainerFact,
  LayersAnswer,
  PullAnswer,
  PullProgress,
  RebuildAnswer,
  Rebuilding,
  RebuildResult,
  ServiceOperator,
  UpAnswer,
} from './engine-port.ts';
import { openImageStore } from './image-store.ts';
import { listLayers, pullImage } from './pull.ts';
import { checkImage, planRebuild, rebuildImages } from './rebuild.ts';
import { createRegistry } from './registry.ts';
import { openStack } from './stack.ts';
import { readStack, type StackReading } from './stack-file.ts';

export type ProcessEngineOptions = {
  /** Folder for images, logs and the list of containers; created when it is missing. */
  directory: string;
  /** Registry of images: a `file:` or `http(s):` URL of a folder. */
  registry: URL;
  /** Path of the stack's compose file: services with `image` and `environment`. */
  composeFile: string;
  /** Path of the agent's override, which pins images by id. */
  overrideFile: string;
};

/**
 * Runs the stack as child processes, for `npm start` and quick tests (docs/adr/0008). They end with the agent, or when the
 * engine is disposed.
 */
export type ProcessEngine = AsyncDisposable & {
  services(): Promise<StackServices>;
  containers(): Promise<ContainerFact[]>;
  imageId(reference: string): Promise<string | null>;
  pinnedImages(): Promise<string[]>;
  pinImage(imageId: string): Promise<'pinned' | 'absent' | 'broken'>;
  unpinImage(imageId: string): Promise<void>;
  removeImage(reference: string, options: { force: boolean }): Promise<'removed' | 'in_use' | 'absent'>;
  layers(reference: string, signal: AbortSignal): Promise<LayersAnswer>;
  freeBytes(): Promise<number | null>;
  roomPerByte(): Promise<number>;
  pull(reference: string, onProgress: (progress: PullProgress) => void, signal: AbortSignal): Promise<PullAnswer>;
  namedImages(): Promise<Record<string, string>>;
  checkImages(
    imageIds: readonly string[],
    options: { signal: AbortSignal },
  ): Promise<ReadonlyMap<string, 'whole' | 'damaged' | 'absent'>>;
  planRebuild(
    damaged: readonly string[],
    references: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<RebuildAnswer>;
  rebuildImages(rebuilding: Rebuilding, signal: AbortSignal): Promise<RebuildResult>;
  /** Images share no layers here, so removing an image is enough. */
  repairStorage(): Promise<false>;
  up(signal: AbortSignal): Promise<UpAnswer>;
  setRunning(service: string, running: boolean): Promise<void>;
  sync(): Promise<void>;
  operator: ServiceOperator;
};

/** @throws the file system's error when `directory` cannot be used. */
export async function createProcessEngine(options: ProcessEngineOptions): Promise<ProcessEngine> {
  const { directory, composeFile, overrideFile } = options;
  const store = await openImageStore(directory);
  const registry = createRegistry(options.registry);
  const stack = await openStack(directory, store);
  const read = (): Promise<StackReading> => readStack(composeFile, overrideFile);
  const rebuildParts = (signal: AbortSignal) => ({
    store,
    stack,
    signal,
    layers: (reference: string) => listLayers(registry, reference, signal),
    pull: (reference: string) => pullImage({ registry, store, signal, onProgress: () => undefined }, reference),
  });

  return {
    services: async () => {
      const reading = await read();
      if (reading.kind !== 'ok') throw new StationError('unavailable', reading.reason);
      const running = reading.services.map(({ name }) => name);
      return { running, declared: running };
    },
    containers: async () => stack.containers().map((container) => container.fact()),
    imageId: (reference) => store.resolve(reference),
    pinnedImages: () => store.held(),
    pinImage: async (imageId) => {
      const reading = await store.read(imageId);
      if (reading.kind !== 'ok') return reading.kind;
      await store.pinImage(imageId);
      return 'pinned';
    },
    unpinImage: (imageId) => store.unpinImage(imageId),
    removeImage: async (reference, { force }) => {
      const id = await store.resolve(reference);
      if (id === null) return 'absent';
      const users = stack.containers().filter(({ record }) => record.imageId === id);
      const held = (await store.held()).includes(id);
      // As in Docker, `force` removes images of stopped containers, but not of running ones.
      const inUse = users.some((user) => user.fact().state === 'running') || (!force && (held || users.length > 0));
      if (inUse) return 'in_use';
      await store.remove(id);
      return 'removed';
    },
    layers: (reference, signal) => listLayers(registry, reference, signal),
    freeBytes: () => store.freeBytes(),
    // Files are not compressed here.
    roomPerByte: async () => 1,
    pull: (reference, onProgress, signal) => pullImage({ registry, store, signal, onProgress }, reference),
    // All of them belong to the release.
    namedImages: async () => ({}),
    checkImages: async (imageIds, { signal }) => {
      const found = new Map<string, 'whole' | 'damaged' | 'absent'>();
      for (const id of imageIds) found.set(id, await checkImage(store, id, signal));
      return found;
    },
    planRebuild: (damaged, references, signal) => planRebuild(rebuildParts(signal), damaged, references),
    rebuildImages: (rebuilding, signal) => rebuildImages(rebuildParts(signal), rebuilding),
    repairStorage: async () => false,
    up: async (signal) => {
      const reading = await read();
      return reading.kind === 'ok' ? stack.up(reading.services, signal) : reading;
    },
    setRunning: async (service, running) => {
      if (!running) return stack.stop(service);
      const reading = await read();
      if (reading.kind !== 'ok') throw new StationError('unavailable', reading.reason);
      await stack.start(reading.services.filter(({ name }) => name === service));
    },
    sync: () => store.sync(),
    operator: {
      restart: async (service) => {
        const reading = await read();
        if (reading.kind !== 'ok') throw new StationError('unavailable', reading.reason);
        await stack.restart(reading.services.filter(({ name }) => name === service));
      },
      followLog: (service, logOptions, onLine, signal) => stack.followLog(service, logOptions, onLine, signal),
    },
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}
