import type { Clock } from '@station/kit/clock';
import { runCommand } from '@station/kit/command';
import { StationError } from '@station/kit/station-error';
import type { StackEngine, UpAnswer } from '../../stack/ports.ts';
import { createCompose, type ComposeParts } from './compose.ts';
import { createProjectReader } from './compose-project.ts';
import { listContainers, listPins, pinImage, projectLabel, setRunning, unpinImage } from './containers.ts';
import { createEngineApi, type EngineApi } from './engine-api.ts';
import { createInfo, freeBytes } from './engine-info.ts';
import { askLayers, imageId, pull, removeImage } from './images.ts';
import type { RegistryCredentials } from './registry.ts';
import { fetchMissing } from './missing-images.ts';
import { createImageVerifier } from './verify-image.ts';

export type DockerParts = Omit<ComposeParts, 'env'> & {
  socketPath: string;
  credentials: RegistryCredentials | null;
  /** PATH, HOME and the like for the `docker` and `sync` programs. */
  env: Record<string, string>;
  clock: Clock;
  /** Called at each sign that `up` goes on while it fetches. */
  alive: () => void;
  /** Called when the project's environment file could not be linked to the override, or could again. */
  onLink: (linked: boolean) => void;
};

/** Docker Engine and Compose v2 as the station's container engine. */
export function createDockerEngine(parts: DockerParts): StackEngine & Disposable {
  const api = createEngineApi(parts.socketPath);
  const compose = createCompose({ ...parts, env: { ...parts.env, DOCKER_HOST: `unix://${parts.socketPath}` } });
  const { credentials, clock, alive } = parts;
  const sizes = new Map<string, Record<string, number>>();
  const info = createInfo(api, clock.now);
  const readProject = createProjectReader(compose, clock.now);
  const projectName = async (): Promise<string> => (await readProject({ evenIfOld: true })).name;
  const free = async (): Promise<number | null> => freeBytes((await info()).DockerRootDir);
  const link = async (): Promise<void> => parts.onLink(await compose.link());

  return {
    services: async () => (await readProject({ evenIfOld: false })).services,
    containers: async () => listContainers(api, await projectName()),
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
    verifyImage: createImageVerifier({ api, freeBytes: free }),
    up: async (signal) => {
      await link();
      if (credentials !== null) {
        // Asked anew: what was read before may name images that the override has replaced since, and that are long gone.
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
      return up(api, compose, await projectName(), clock.now, signal);
    },
    setRunning: async (service, running) => setRunning(api, await projectName(), service, running),
    sync: async () => {
      const { DockerRootDir } = await info();
      const result = await runCommand('sync', ['-f', DockerRootDir], { env: parts.env });
      if (result.exitCode !== 0)
        throw new StationError('internal', 'the file system of the container engine cannot be synced');
    },
    [Symbol.dispose]: () => api[Symbol.dispose](),
  };
}

async function up(
  api: EngineApi,
  compose: ReturnType<typeof createCompose>,
  project: string,
  now: () => number,
  signal: AbortSignal,
): Promise<UpAnswer> {
  const since = now();
  const result = await compose.up(signal).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof DOMException && error.name === 'TimeoutError') return null;
    throw error;
  });
  if (!result) return { kind: 'failed', reason: 'starting the release did not come to an end', hung: true };
  if (result.exitCode !== 0) {
    // A project that broke since it was last read says nothing of the release: its fault is thrown, and waited out.
    await compose.describe(signal);
    return {
      kind: 'failed',
      reason: 'the container engine could not start the release',
      detail: result.stderr.trim().slice(-800),
    };
  }
  return { kind: 'ok', stoppedAtMs: await firstStop(api, project, since, now()) };
}

/** When the first container of the project ended in a stretch of time, by the engine's own record. */
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
