import type { Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { StackEngine, UpAnswer } from '../../stack-ports.ts';
import type { Compose } from './compose.ts';
import { projectLabel } from './containers.ts';
import type { EngineApi, ReadInfo } from './engine-api.ts';
import { imageId, pull, removeImage } from './images.ts';
import { fetchMissing, type Failure, namedImages } from './missing-images.ts';
import type { RegistryCredentials } from './registry.ts';
import { holdsStalePort, restartEngine } from './stale-ports.ts';
import { removeUnreadable } from './storage-repair.ts';

export type StartParts = {
  api: EngineApi;
  compose: Compose;
  info: ReadInfo;
  projectName: () => Promise<string>;
  credentials: RegistryCredentials | null;
  /** PATH, HOME and the like for the `docker` and `sync` programs. */
  env: Record<string, string>;
  clock: Clock;
  /** Called at each sign of progress while `up` fetches. */
  alive: () => void;
  repair: StackEngine['repairStorage'];
  /** Called when linking the override in the project's environment file fails, or works again. */
  onLink: (linked: boolean) => void;
  /** Called after Docker was restarted, or could not be. */
  onRestart: (restarted: boolean) => void;
  /** Called with an image outside any release that was damaged; it is fetched again. */
  onRemoved: (image: string) => void;
};

/** Starts the project. What a power cut may have damaged is mended, and then it is started once more. */
export function createStart(parts: StartParts): StackEngine['up'] {
  const freePorts = createFreePorts(parts);
  const fetchAndStart = async (signal: AbortSignal): Promise<UpAnswer> => {
    const missing = await fetchOwn(parts, signal);
    return missing ?? runUp(parts, await parts.projectName(), freePorts, signal);
  };
  return async (signal) => {
    parts.onLink(await parts.compose.link());
    let answer = await fetchAndStart(signal);
    if (answer.kind === 'failed' && (await discardDamaged(parts, signal))) answer = await fetchAndStart(signal);
    if (answer.kind === 'failed' && (await repairIfReachable(parts, signal))) answer = await fetchAndStart(signal);
    return answer;
  };
}

/** Frees ports that a power cut left taken; false when that is not the fault, or did not work. */
type FreePorts = (stderr: string, signal: AbortSignal) => Promise<boolean>;

/** Once in the life of the agent, because it ends for a moment whatever else runs in containers here. */
function createFreePorts({ api, env, onRestart }: StartParts): FreePorts {
  let isRestarted = false;
  return async (stderr, signal) => {
    if (isRestarted || !(await holdsStalePort(api, stderr))) return false;
    isRestarted = true;
    const restarted = await restartEngine(env, signal);
    onRestart(restarted);
    return restarted;
  };
}

/** Fetches what Compose cannot: see `fetchMissing`. Null: all is there. */
async function fetchOwn(parts: StartParts, signal: AbortSignal): Promise<Failure | null> {
  const { api, compose, info, projectName, credentials, clock, alive } = parts;
  if (credentials === null) return null;
  // Read again: the cached project may name images that the override has replaced and that were removed.
  const { images } = await compose.describe(signal);
  return fetchMissing(images, {
    registry: credentials.registry,
    imageId: (reference) => imageId(api, reference),
    pull: (reference, onProgress, bounded) =>
      pull(api, info, reference, { credentials, sizes: {}, onProgress, signal: bounded }),
    removeImage: async (reference) => removeImage(api, await projectName(), reference, true),
    clock,
    alive,
    signal,
  });
}

/** Images of the release are verified when they are fetched; those of other services only here. */
async function discardDamaged(parts: StartParts, signal: AbortSignal): Promise<boolean> {
  const { api, compose, projectName, onRemoved } = parts;
  const removed = await removeUnreadable(api, await projectName(), await namedImages(compose, signal));
  removed.forEach(onRemoved);
  return removed.length > 0;
}

/** An engine that stops answering must not hide why the start failed. */
const repairIfReachable = ({ repair }: StartParts, signal: AbortSignal): Promise<boolean> =>
  repair([], signal).catch((error: unknown) => {
    if (error instanceof StationError && error.code === 'unavailable') return false;
    throw error;
  });

async function runUp(parts: StartParts, project: string, freePorts: FreePorts, signal: AbortSignal): Promise<UpAnswer> {
  const { api, compose, clock } = parts;
  const since = clock.now();
  const result = await compose.up(signal).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof DOMException && error.name === 'TimeoutError') return null;
    throw error;
  });
  if (!result) return { kind: 'failed', reason: 'starting the release did not finish in time', hung: true };
  if (result.exitCode !== 0) {
    if (await freePorts(result.stderr, signal)) return runUp(parts, project, freePorts, signal);
    // A project that broke meanwhile is no fault of the release: throw it as a blocker and wait.
    await compose.describe(signal);
    return {
      kind: 'failed',
      reason: 'the container engine could not start the release',
      detail: result.stderr.trim().slice(-800),
    };
  }
  return { kind: 'ok', stoppedAtMs: await firstStop(api, project, since, clock.now()) };
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
