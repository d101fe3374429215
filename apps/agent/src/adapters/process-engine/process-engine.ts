import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { nodeDisk, readText, writeDurable } from '@station/kit/files';
import { StationError } from '@station/kit/station-error';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { StackEngine, UpAnswer } from '../../containers/ports.ts';
import { createBoundedLog, type BoundedLog } from './bounded-log.ts';
import { createContainer, type Container, type ContainerRecord } from './container.ts';
import { openImageStore, type ImageStore, type LocalImage } from './image-store.ts';
import { listLayers, pullImage } from './pull.ts';
import { createRegistry } from './registry.ts';
import { definitionHash, readStack, type ServiceDefinition, type StackReading } from './stack-file.ts';

export type ProcessEngineOptions = {
  /** Where images, logs and the list of containers are kept; created when it is not there. */
  directory: string;
  /** Where images are fetched from: a `file:` or `http(s):` address of a folder. */
  registry: URL;
  /** Path of the stack's compose file: services with `image` and `environment`. */
  composeFile: string;
  /** Path of the agent's override, which pins images by id. */
  overrideFile: string;
};

/**
 * `STACK_ENGINE=process`: the stack as plain child processes, for development and quick tests. Its processes live only as long
 * as the agent. Disposing it stops them all.
 */
export type ProcessEngine = StackEngine & AsyncDisposable;

const stopGraceMs = 10_000;
/** When the agent itself ends it must not take long. */
const disposeGraceMs = 3000;
const logBytes = 1024 * 1024;

const Records = Type.Array(
  Type.Object({
    id: Type.String(),
    service: Type.String(),
    image: Type.String(),
    imageId: Type.String(),
    definition: Type.String(),
  }),
);

/** @throws the file system's error when `directory` cannot be used. */
export async function createProcessEngine(options: ProcessEngineOptions): Promise<ProcessEngine> {
  const { directory, composeFile, overrideFile } = options;
  const store = await openImageStore(directory);
  const registry = createRegistry(options.registry);
  const stack = await openStack(directory, store);
  const read = (): Promise<StackReading> => readStack(composeFile, overrideFile);

  return {
    services: async () => {
      const reading = await read();
      if (reading.kind === 'ok') return reading.services.map(({ name }) => name);
      throw new StationError('unavailable', reading.reason);
    },
    containers: async () => stack.containers().map((container) => container.fact()),
    imageId: (reference) => store.resolve(reference),
    heldImages: () => store.held(),
    hold: async (imageId) => {
      const reading = await store.read(imageId);
      if (reading.kind !== 'ok') return reading.kind;
      await store.hold(imageId);
      return 'held';
    },
    releaseHold: (imageId) => store.releaseHold(imageId),
    removeImage: async (reference, { force }) => {
      const id = await store.resolve(reference);
      if (id === null) return 'absent';
      const users = stack.containers().filter(({ record }) => record.imageId === id);
      const held = (await store.held()).includes(id);
      // As Docker: force takes an image from what has stopped, never from what runs.
      const inUse = users.some((user) => user.fact().state === 'running') || (!force && (held || users.length > 0));
      if (inUse) return 'in_use';
      await store.remove(id);
      return 'removed';
    },
    layers: (reference, signal) => listLayers(registry, reference, signal),
    freeBytes: () => store.freeBytes(),
    pull: (reference, onProgress, signal) => pullImage({ registry, store, signal, onProgress }, reference),
    verifyImage: (imageId, signal) => store.verify(imageId, signal),
    up: async (signal) => {
      const reading = await read();
      return reading.kind === 'ok' ? stack.up(reading.services, signal) : reading;
    },
    sync: () => store.sync(),
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}

type Stack = AsyncDisposable & {
  containers(): readonly Container[];
  up(services: readonly ServiceDefinition[], signal: AbortSignal): Promise<UpAnswer>;
};

type Planned = { definition: ServiceDefinition; image: LocalImage; hash: string };

async function openStack(directory: string, store: ImageStore): Promise<Stack> {
  const recordFile = join(directory, 'containers.json');
  const logFolder = join(directory, 'logs');
  await mkdir(logFolder, { recursive: true, mode: 0o700 });
  const logs = new Map<string, BoundedLog>();
  const logOf = (service: string): BoundedLog => {
    const log = logs.get(service) ?? createBoundedLog(join(logFolder, `${service}.log`), logBytes);
    logs.set(service, log);
    return log;
  };
  const make = (record: ContainerRecord, found: boolean): Container =>
    createContainer(record, { found, log: logOf(record.service) });
  let containers = (await readRecords(recordFile)).map((record) => make(record, true));
  const record = (next: Container[]): Promise<void> => {
    containers = next;
    return writeDurable(nodeDisk, recordFile, `${JSON.stringify(next.map((each) => each.record))}\n`);
  };

  const bringUp = async (services: readonly ServiceDefinition[], signal: AbortSignal): Promise<UpAnswer> => {
    const plan = await planStack(services, store);
    if ('reason' in plan) return { kind: 'failed', reason: plan.reason };
    let stoppedAtMs: number | null = null;
    const stop = async (container: Container): Promise<void> => {
      if (container.isActive()) stoppedAtMs ??= Date.now();
      await container.stop(stopGraceMs);
    };
    const isWanted = ({ record: { service, definition } }: Container): boolean =>
      plan.some(({ definition: { name }, hash }) => name === service && hash === definition);
    for (const container of containers.filter((each) => !services.some(({ name }) => name === each.record.service))) {
      await stop(container);
    }
    await record(containers.filter((each) => services.some(({ name }) => name === each.record.service)));
    for (const { definition, image, hash } of plan) {
      signal.throwIfAborted();
      let container = containers.find((each) => each.record.service === definition.name && isWanted(each));
      if (!container) {
        for (const old of containers.filter((each) => each.record.service === definition.name)) await stop(old);
        const { name, image: spelling } = definition;
        const fresh = {
          id: randomUUID(),
          service: name,
          image: spelling ?? image.id,
          imageId: image.id,
          definition: hash,
        };
        container = make(fresh, false);
        await record([...containers.filter((each) => each.record.service !== name), container]);
      }
      await container.start(image, definition);
    }
    return { kind: 'ok', stoppedAtMs };
  };

  // One at a time: `up` called twice at once would start a service twice.
  const runner = createExclusiveRunner();
  let closed = false;
  return {
    containers: () => containers,
    up: (services, signal) =>
      runner.run(() => {
        if (closed) throw new StationError('unavailable', 'the process engine has been closed');
        return bringUp(services, signal);
      }),
    [Symbol.asyncDispose]: async () => {
      closed = true;
      await Promise.all(containers.map((container) => container.stop(disposeGraceMs)));
      // And what a bring-up that was under way has started meanwhile.
      await runner.run(() => Promise.all(containers.map((container) => container.stop(disposeGraceMs))));
      for (const log of logs.values()) log[Symbol.dispose]();
    },
  };
}

async function planStack(
  services: readonly ServiceDefinition[],
  store: ImageStore,
): Promise<Planned[] | { reason: string }> {
  const plan: Planned[] = [];
  for (const definition of services) {
    const id = definition.image === null ? null : await store.resolve(definition.image);
    const reading = id === null ? null : await store.read(id);
    if (reading?.kind !== 'ok') {
      const fault = definition.image === null ? 'names no image' : reading ? 'has a broken image' : 'has no image here';
      return { reason: `service "${definition.name}" ${fault}` };
    }
    plan.push({ definition, image: reading.image, hash: definitionHash(definition, reading.image.id) });
  }
  return plan;
}

async function readRecords(path: string): Promise<ContainerRecord[]> {
  const text = await readText(nodeDisk, path);
  try {
    const records: unknown = JSON.parse(text ?? '[]');
    return Value.Check(Records, records) ? records : [];
  } catch {
    return [];
  }
}
