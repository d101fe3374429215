import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { nodeDisk, readText, writeDurable } from '@station/kit/durable-files';
import { StationError } from '@station/kit/station-error';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { ServiceOperator, UpAnswer } from './engine-port.ts';
import { createBoundedLog, type BoundedLog } from './bounded-log.ts';
import { createContainer, type Container, type ContainerRecord } from './container.ts';
import type { ImageStore, LocalImage } from './image-store.ts';
import { definitionHash, type ServiceDefinition } from './stack-file.ts';

/** The containers of the stack. Disposing it stops them; their records stay on disk. */
export type Stack = AsyncDisposable & {
  containers(): readonly Container[];
  /** Starts, replaces and stops containers until the stack matches its files. Unchanged containers keep running. */
  up(services: readonly ServiceDefinition[], signal: AbortSignal): Promise<UpAnswer>;
  /** Starts the existing containers of these services unchanged. */
  start(services: readonly ServiceDefinition[]): Promise<void>;
  /** Stops the containers of a service and keeps them. */
  stop(service: string): Promise<void>;
  /** Stops these services and starts them again. */
  restart(services: readonly ServiceDefinition[]): Promise<void>;
  followLog: ServiceOperator['followLog'];
};

/** One service of the desired stack. */
type Planned = { definition: ServiceDefinition; image: LocalImage; hash: string };

const stopGraceMs = 10_000;
/** Short, because the agent must end quickly. */
const disposeGraceMs = 3000;
const logBytes = 1024 * 1024;

export async function openStack(directory: string, store: ImageStore): Promise<Stack> {
  await using opened = new AsyncDisposableStack();
  const logs = opened.use(await openLogs(join(directory, 'logs')));
  const made = await openContainers(join(directory, 'containers.json'), logs);
  const owned = opened.move();
  // One at a time: two parallel calls of `up` would start a service twice.
  const runner = createExclusiveRunner();
  let closed = false;

  const ofService = (service: string): Container[] => made.list().filter(({ record }) => record.service === service);

  const bringUp = async (services: readonly ServiceDefinition[], signal: AbortSignal): Promise<UpAnswer> => {
    const plan = await planStack(services, store);
    if ('reason' in plan) return { kind: 'failed', reason: plan.reason };
    let stoppedAtMs: number | null = null;
    const stop = async (container: Container): Promise<void> => {
      if (container.isActive()) stoppedAtMs ??= Date.now();
      await unlessAborted(container.stop(stopGraceMs), signal);
    };
    const isService = ({ record }: Container): boolean => services.some(({ name }) => name === record.service);
    for (const container of made.list()) if (!isService(container)) await stop(container);
    await made.keep(isService);
    for (const { definition, image, hash } of plan) {
      signal.throwIfAborted();
      const own = ofService(definition.name);
      let container = own.find(({ record }) => record.definition === hash);
      if (!container) {
        for (const old of own) await stop(old);
        container = await made.replace({ definition, image, hash });
      }
      await container.start(image, definition);
    }
    return { kind: 'ok', stoppedAtMs };
  };

  const startAgain = async (services: readonly ServiceDefinition[]): Promise<void> => {
    const plan = await planStack(services, store);
    if ('reason' in plan) throw new StationError('internal', plan.reason);
    for (const { definition, image, hash } of plan) {
      await made
        .list()
        .find(({ record }) => record.definition === hash)
        ?.start(image, definition);
    }
  };

  const whileOpen = <T>(job: () => Promise<T>): Promise<T> =>
    runner.run(() => {
      if (closed) throw new StationError('unavailable', 'the process engine has been closed');
      return job();
    });

  const stopAll = async (): Promise<void> => {
    await Promise.all(made.list().map((container) => container.stop(disposeGraceMs)));
  };
  return {
    containers: made.list,
    up: (services, signal) => whileOpen(() => bringUp(services, signal)),
    start: (services) => whileOpen(() => startAgain(services)),
    stop: (service) =>
      whileOpen(async () => {
        await Promise.all(ofService(service).map((container) => container.stop(stopGraceMs)));
      }),
    restart: (services) =>
      whileOpen(async () => {
        await Promise.all(services.flatMap(({ name }) => ofService(name)).map((one) => one.stop(stopGraceMs)));
        await startAgain(services);
      }),
    followLog: (service, { since, lines }, onLine, signal) => logs.of(service).follow({ since, lines }, onLine, signal),
    [Symbol.asyncDispose]: async () => {
      closed = true;
      await stopAll();
      // Also stops containers that a running `up` has started meanwhile.
      await runner.run(stopAll);
      await owned.disposeAsync();
    },
  };
}

type Logs = Disposable & { of(service: string): BoundedLog };

async function openLogs(folder: string): Promise<Logs> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const logs = new Map<string, BoundedLog>();
  return {
    of: (service) => {
      const log = logs.get(service) ?? createBoundedLog(join(folder, `${service}.log`), logBytes);
      logs.set(service, log);
      return log;
    },
    [Symbol.dispose]: () => {
      for (const log of logs.values()) log[Symbol.dispose]();
    },
  };
}

type Containers = {
  list(): readonly Container[];
  /** Removes all other containers from the list. */
  keep(wanted: (container: Container) => boolean): Promise<void>;
  /** Replaces the containers of a service. The new one is on disk before it is started. */
  replace(planned: Planned): Promise<Container>;
};

async function openContainers(recordFile: string, logs: Logs): Promise<Containers> {
  const make = (record: ContainerRecord, found: boolean): Container =>
    createContainer(record, { found, log: logs.of(record.service) });
  let containers = (await readRecords(recordFile)).map((record) => make(record, true));
  const set = async (next: Container[]): Promise<void> => {
    if (next.length === containers.length && next.every((each, index) => each === containers[index])) return;
    containers = next;
    await writeDurable(nodeDisk, recordFile, `${JSON.stringify(next.map(({ record }) => record))}\n`);
  };
  return {
    list: () => containers,
    keep: (wanted) => set(containers.filter(wanted)),
    replace: async ({ definition: { name, image: spelling }, image, hash }) => {
      const record = {
        id: randomUUID(),
        service: name,
        image: spelling ?? image.id,
        imageId: image.id,
        definition: hash,
      };
      const container = make(record, false);
      await set([...containers.filter((each) => each.record.service !== name), container]);
      return container;
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

/** Rejects with the signal's reason as soon as it aborts; the work continues in the background. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

const Records = Type.Array(
  Type.Object({
    id: Type.String(),
    service: Type.String(),
    image: Type.String(),
    imageId: Type.String(),
    definition: Type.String(),
  }),
);

async function readRecords(path: string): Promise<ContainerRecord[]> {
  const text = await readText(nodeDisk, path);
  try {
    const records: unknown = JSON.parse(text ?? '[]');
    return Value.Check(Records, records) ? records : [];
  } catch {
    // Without the file, earlier containers are unknown. Their processes have ended.
    return [];
  }
}
