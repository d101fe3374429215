import type { Clock } from '@station/kit/clock';
import { runCommand } from '@station/kit/command';
import { StationError } from '@station/kit/station-error';
import { parseImageReference } from '@station/protocol/image-reference';
import type { BrokerFile } from '../../../core/backup-ports.ts';
import type { ServiceOperator } from '../../../core/operator-ports.ts';
import { unlessSilent } from '../../../core/unless-silent.ts';
import {
  type PullAnswer,
  type PullProgress,
  registrySilent,
  type StackEngine,
  type UpAnswer,
} from '../../stack-ports.ts';
import { createBrokerFile } from './broker-file.ts';
import { type Compose, type ComposeParts, createCompose, createProjectReader } from './compose.ts';
import { followContainerLog } from './container-log.ts';
import {
  listContainers,
  listPins,
  pinImage,
  projectLabel,
  restartContainers,
  setRunning,
  unpinImage,
} from './containers.ts';
import { createEngineApi, createInfo, type EngineApi, freeBytes } from './engine-api.ts';
import { askLayers, createImageVerifier, imageId, pull, removeImage } from './images.ts';
import type { RegistryCredentials } from './registry.ts';
import { imageFolder } from './image-folder.ts';
import { holdsStalePort, restartEngine } from './stale-ports.ts';
import { type Repaired, type RepairParts, removeUnreadable, repairStorage } from './storage-repair.ts';

export type DockerParts = Omit<ComposeParts, 'env'> & {
  socketPath: string;
  /** BACKEND_CONTAINER_NAME and FRONTEND_CONTAINER_NAME, by service: see `listContainers`. */
  containerNames: Readonly<Record<string, string>>;
  credentials: RegistryCredentials | null;
  /** PATH, HOME and the like for the `docker` and `sync` programs. */
  env: Record<string, string>;
  clock: Clock;
  /** Called at each sign of progress while `up` fetches. */
  alive: () => void;
  /** Called when linking the override in the project's environment file fails, or works again. */
  onLink: (linked: boolean) => void;
  /** Called after Docker was restarted, or could not be. */
  onRestart: (restarted: boolean) => void;
  /** Called with an image outside any release that was damaged; it is fetched again. */
  onRemoved: (image: string) => void;
  /** Called after the repair of the storage has removed something. */
  onRepaired: (repaired: Repaired) => void;
};

/** Docker Engine and Compose v2 as the station's container engine. */
export function createDockerEngine(
  parts: DockerParts,
): StackEngine & Disposable & { broker: BrokerFile; operator: ServiceOperator } {
  const api = createEngineApi(parts.socketPath);
  const compose = createCompose({ ...parts, env: { ...parts.env, DOCKER_HOST: `unix://${parts.socketPath}` } });
  const { credentials, clock, alive } = parts;
  const sizes = new Map<string, Record<string, number>>();
  const info = createInfo(api, clock.now);
  const readProject = createProjectReader(compose, clock.now);
  const projectName = async (): Promise<string> => (await readProject({ evenIfOld: true })).name;
  const free = async (): Promise<number | null> => freeBytes(await imageFolder(await info()));
  const link = async (): Promise<void> => parts.onLink(await compose.link());
  let isRestarted = false;
  /** Once in the life of the agent, because it ends for a moment whatever else runs in containers here. */
  const freePorts = async (stderr: string, signal: AbortSignal): Promise<boolean> => {
    if (isRestarted || !(await holdsStalePort(api, stderr))) return false;
    isRestarted = true;
    const restarted = await restartEngine(parts.env, signal);
    parts.onRestart(restarted);
    return restarted;
  };

  const fetchAndStart = async (signal: AbortSignal): Promise<UpAnswer> => {
    if (credentials !== null) {
      // Read again: the cached project may name images that the override has replaced and that were removed.
      const { images } = await compose.describe(signal);
      const missing = await fetchMissing(images, {
        registry: credentials.registry,
        imageId: (reference) => imageId(api, reference),
        pull: (reference, onProgress, bounded) =>
          pull(api, info, reference, { credentials, sizes: {}, onProgress, signal: bounded }),
        removeImage: async (reference) => removeImage(api, await projectName(), reference, true),
        clock,
        alive,
        signal,
      });
      if (missing !== null) return missing;
    }
    const project = await projectName();
    return up({ api, compose, project, now: clock.now, freePorts }, signal);
  };
  /** What the project names; images of the installed release have ids. */
  const namedImages = async (signal: AbortSignal): Promise<string[]> =>
    (await compose.describe(signal)).images.filter((image) => referenceOf(image) !== null);
  const verifyImage = createImageVerifier({ api, freeBytes: free });
  const findOffered: RepairParts['findOffered'] = async (reference, signal) => {
    const answer = await askLayers(api, info, credentials, reference, signal);
    return answer.kind === 'ok' ? (answer.imageId ?? null) : null;
  };
  const repair = createRepair(async (fetched, signal) => {
    const project = await projectName();
    const images = { named: await namedImages(signal), fetched };
    return repairStorage({ api, info, project, verify: verifyImage, findOffered, alive }, images, signal);
  }, parts.onRepaired);
  /** An engine that stops answering must not hide why the start failed. */
  const repairIfReachable = (signal: AbortSignal): Promise<boolean> =>
    repair([], signal).catch((error: unknown) => {
      if (error instanceof StationError && error.code === 'unavailable') return false;
      throw error;
    });
  /** Images of the release are verified when they are fetched; those of other services only here. */
  const discardDamaged = async (signal: AbortSignal): Promise<boolean> => {
    const removed = await removeUnreadable(api, await projectName(), await namedImages(signal));
    removed.forEach(parts.onRemoved);
    return removed.length > 0;
  };

  return {
    services: async () => {
      const { running, declared } = await readProject({ evenIfOld: false });
      return { running, declared };
    },
    containers: async () => listContainers(api, await projectName(), parts.containerNames),
    imageId: (reference) => imageId(api, reference),
    pinnedImages: async () => (await listPins(api, await projectName())).map((pin) => pin.ImageID),
    pinImage: async (imageId) => pinImage(api, await projectName(), imageId, free),
    unpinImage: async (imageId) => unpinImage(api, await projectName(), imageId),
    removeImage: async (reference, { force }) => removeImage(api, await projectName(), reference, force),
    layers: async (reference, signal) => {
      const answer = await askLayers(api, info, parts.credentials, reference, signal);
      if (answer.kind === 'ok') sizes.set(reference, answer.layers);
      return answer;
    },
    freeBytes: free,
    pull: async (reference, onProgress, signal) =>
      pull(api, info, reference, {
        credentials: parts.credentials,
        sizes: sizes.get(reference) ?? {},
        onProgress,
        signal,
      }),
    verifyImage,
    repairStorage: repair,
    up: async (signal) => {
      await link();
      let answer = await fetchAndStart(signal);
      if (answer.kind === 'failed' && (await discardDamaged(signal))) answer = await fetchAndStart(signal);
      if (answer.kind === 'failed' && (await repairIfReachable(signal))) answer = await fetchAndStart(signal);
      return answer;
    },
    setRunning: async (service, running) => setRunning(api, await projectName(), service, running),
    sync: async () => {
      const facts = await info();
      const folders = new Set([facts.DockerRootDir, await imageFolder(facts)]);
      const result = await runCommand('sync', ['-f', ...folders], { env: parts.env });
      if (result.exitCode !== 0)
        throw new StationError('internal', 'the file system of the container engine cannot be synced');
    },
    broker: createBrokerFile(api, projectName),
    operator: {
      restart: async (service) => restartContainers(api, await projectName(), service),
      followLog: async (service, options, onLine, signal) =>
        followContainerLog(api, await projectName(), { ...options, service }, onLine, signal),
    },
    [Symbol.dispose]: () => api[Symbol.dispose](),
  };
}

/** Repairs once: what a power cut has damaged is there from the start of the agent. @returns whether something was removed. */
function createRepair(
  repairOnce: (fetched: readonly string[], signal: AbortSignal) => Promise<Repaired>,
  onRepaired: (repaired: Repaired) => void,
): StackEngine['repairStorage'] {
  let isDone = false;
  return async (fetched, signal) => {
    if (isDone) return false;
    const repaired = await repairOnce(fetched, signal);
    isDone = true;
    if (repaired.images.length === 0 && repaired.layers === 0) return false;
    onRepaired(repaired);
    return true;
  };
}

type UpParts = {
  api: EngineApi;
  compose: Compose;
  project: string;
  now: () => number;
  /** Frees ports that a power cut left taken; false when that is not the fault, or did not work. */
  freePorts(stderr: string, signal: AbortSignal): Promise<boolean>;
};

async function up(parts: UpParts, signal: AbortSignal): Promise<UpAnswer> {
  const { api, compose, project, now, freePorts } = parts;
  const since = now();
  const result = await compose.up(signal).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof DOMException && error.name === 'TimeoutError') return null;
    throw error;
  });
  if (!result) return { kind: 'failed', reason: 'starting the release did not finish in time', hung: true };
  if (result.exitCode !== 0) {
    if (await freePorts(result.stderr, signal)) return up(parts, signal);
    // A project that broke meanwhile is no fault of the release: throw it as a blocker and wait.
    await compose.describe(signal);
    return {
      kind: 'failed',
      reason: 'the container engine could not start the release',
      detail: result.stderr.trim().slice(-800),
    };
  }
  return { kind: 'ok', stoppedAtMs: await firstStop(api, project, since, now()) };
}

/** When the first container of the project ended in a period, from the engine's events. */
async function firstStop(api: EngineApi, project: string, sinceMs: number, untilMs: number): Promise<number | null> {
  const filters = JSON.stringify({ type: ['container'], event: ['die'], label: [`${projectLabel}=${project}`] });
  const query = { since: (sinceMs / 1000).toFixed(3), until: (untilMs / 1000).toFixed(3), filters };
  let first: number | null = null;
  await api.lines(
    'GET',
    '/events',
    (line) => {
      const { timeNano } = line as { timeNano?: unknown };
      if (typeof timeNano === 'number') first = Math.min(first ?? Infinity, timeNano / 1e6);
    },
    { query },
  );
  return first;
}

type Failure = Extract<PullAnswer, { kind: 'failed' }>;

type MissingImagesParts = {
  /** Whose credentials the agent has. */
  registry: string;
  imageId(reference: string): Promise<string | null>;
  pull(reference: string, onProgress: (progress: PullProgress) => void, signal: AbortSignal): Promise<PullAnswer>;
  /** Removes an image and its stopped containers of this project. */
  removeImage(reference: string): Promise<unknown>;
  clock: Clock;
  /** Called at each sign of progress: on a slow line the work takes long. */
  alive: () => void;
  signal: AbortSignal;
};

/**
 * Fetches what `docker compose up` cannot: images of the private registry outside any release, such as the proxy's. Compose does not have
 * the agent's credentials, and a program must not get them.
 * @param images as Compose resolves them.
 * @returns the first that could not be fetched; null: none.
 */
export async function fetchMissing(images: readonly string[], parts: MissingImagesParts): Promise<Failure | null> {
  for (const image of images) {
    const reference = referenceOf(image);
    if (reference?.registry !== parts.registry) continue;
    if ((await parts.imageId(reference.text)) !== null) continue;
    const failure = await fetchUsable(reference.text, parts);
    if (failure) return failure;
  }
  return null;
}

/** The reference of an image that can be fetched by name; without a tag `latest`, as in Docker. Pinned images have ids. */
const referenceOf = (image: string) =>
  image.startsWith('sha256:') ? null : (parseImageReference(image) ?? parseImageReference(`${image}:latest`));

/** Re-pulls a damaged image: it is removed first, or the pull would reuse its layers. The registry has just offered it. */
async function fetchUsable(reference: string, parts: MissingImagesParts): Promise<Failure | null> {
  for (const isLastTry of [false, true]) {
    parts.alive();
    const watched = await unlessSilent<PullProgress, PullAnswer>(
      (onProgress, signal) => parts.pull(reference, onProgress, signal),
      { ...parts, onProgress: parts.alive },
    );
    const answer = watched === 'silent' ? registrySilent : watched;
    if (answer.kind !== 'broken') return answer.kind === 'failed' ? answer : null;
    if (!isLastTry) await parts.removeImage(reference);
  }
  const reason = `${reference} is unusable after two fetches`;
  return { kind: 'failed', code: 'engine_failed', reason, transient: true };
}
