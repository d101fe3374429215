import type { ContainerFact } from '@station/agent/stack/stack-ports';
import type { ProbeAnswer } from '@station/agent/stack/stack-ports';
import type { Choose } from './choice.ts';
import {
  collectLayers,
  copyStorage,
  cutStorage,
  emptyStorage,
  type EngineStorage,
  type LayerCondition,
  type StoredContainer,
} from './engine-storage.ts';
import type { WorldTime } from './virtual-clock.ts';

/** Behaviour of the program in an image. */
export type Behaviour =
  | 'good'
  | 'unhealthy'
  | 'crash-looping'
  /** Its container starts, but Compose waits forever until it is ready. */
  | 'never-ready'
  /** Healthy only after a while, or only for a while. */
  | { kind: 'healthy-after' | 'unhealthy-after'; ms: number };

/** An image at a registry. */
export type PublishedImage = { id: string; digest: string };

/** The part that does not change during a run. */
export type Catalogue = {
  /** Reference → image at the registry. */
  published: ReadonlyMap<string, PublishedImage>;
  /** Image id → behaviour; default: `good`. */
  behaviours: ReadonlyMap<string, Behaviour>;
};

/** State of the connection to the registry: `hanging` fails after a long time, `silent` never answers. */
export type RegistryState = 'up' | 'down' | 'hanging' | 'silent';

export type EngineState = {
  catalogue: Catalogue;
  /** The visible state, and the durable one that a power cut leaves. */
  live: EngineStorage;
  durable: EngineStorage;
  registry: RegistryState;
  /** There is no space to verify an image. */
  cramped: boolean;
  /** The registry goes offline after this many more pulls; null: it stays online. */
  pullsLeft: number | null;
  /** An `up` whose caller was killed and which continues to its end. */
  orphan: { desired: Desired; dueMs: number } | null;
  nextSerial: number;
  /** Total time spent waiting for a silent registry or a container that never becomes ready. */
  waitedMs: number;
};

/** Compose service → image as the compose files spell it; null when they cannot be read. */
export type Desired = ReadonlyMap<string, string> | null;

const orphanMs = 3000;

export function emptyEngine(catalogue: Catalogue): EngineState {
  return {
    catalogue,
    live: emptyStorage(),
    durable: emptyStorage(),
    registry: 'up',
    cramped: false,
    pullsLeft: null,
    orphan: null,
    nextSerial: 1,
    waitedMs: 0,
  };
}

export const copyEngine = (state: EngineState): EngineState => ({
  ...state,
  live: copyStorage(state.live),
  durable: copyStorage(state.durable),
});

/** `docker image prune --all --force`: removes every image without a container or a pin. */
export function pruneImages(state: EngineState): void {
  const used = new Set([...state.live.pins, ...[...state.live.containers.values()].map((one) => one.imageId)]);
  for (const id of [...state.live.images.keys()]) if (!used.has(id)) state.live.images.delete(id);
  collectLayers(state.live);
}

/** Power cut and boot: `choose` decides which unsynced data is lost, and Docker starts the containers recorded as started. */
export function cutEngine(state: EngineState, choose: Choose, nowMs: number): void {
  state.orphan = null;
  state.live = cutStorage(state.live, state.durable, choose, nowMs);
  state.durable = copyStorage(state.live);
}

/** The agent is killed during `up`: Compose dies with it, or continues to its end. */
export function orphanUp(state: EngineState, desired: Desired, nowMs: number): void {
  state.orphan = { desired, dueMs: nowMs + orphanMs };
}

export function findImage(storage: EngineStorage, reference: string): string | null {
  if (storage.images.has(reference)) return reference;
  for (const [id, { references }] of storage.images) if (references.includes(reference)) return id;
  return null;
}

export const conditionOf = (storage: EngineStorage, imageId: string): LayerCondition =>
  storage.layers.get(imageId)?.condition ?? 'unusable';

export const behaviourOf = (state: EngineState, imageId: string): Behaviour =>
  state.catalogue.behaviours.get(imageId) ?? 'good';

/** A crash-looping image runs for this time. Docker then waits 100 ms, doubled each time, up to a minute. */
const crashesAfterMs = 400;

/** A container as the engine reports it at a moment. */
export function describe(state: EngineState, container: StoredContainer, nowMs: number): ContainerFact {
  const { id, service, image, imageId, status, exitCode } = container;
  const fact = { id, service, image, imageId, health: 'none', restartCount: 0, exitCode };
  if (status !== 'started') return { ...fact, state: status };
  const crashes = behaviourOf(state, imageId) === 'crash-looping' || conditionOf(state.live, imageId) === 'damaged';
  if (!crashes) return { ...fact, state: 'running', exitCode: 0 };
  let restartCount = 0;
  for (let at = container.sinceMs; ; restartCount += 1) {
    at += crashesAfterMs;
    if (nowMs < at) return { ...fact, state: 'running', restartCount };
    at += Math.min(60_000, 100 * 2 ** restartCount);
    if (nowMs < at) return { ...fact, state: 'restarting', restartCount, exitCode: 1 };
  }
}

const startsWithinMs = 1500;

/** One request to the health check address, as the running containers answer it. */
export function probeStack(state: EngineState, time: WorldTime): ProbeAnswer {
  const running = [...state.live.containers.values()].filter(
    (one) => describe(state, one, time.monotonicMs).state === 'running',
  );
  const runs = (service: string): boolean => running.some((one) => one.service === service);
  const backend = running.find((one) => one.service === 'backend');
  if (!runs('mqtt') || !runs('frontend')) return { status: 502, ok: false, reason: 'the proxy has no backend' };
  const age = backend ? time.monotonicMs - backend.sinceMs : 0;
  if (!backend || age < startsWithinMs) return { status: null, ok: false, reason: 'connection refused' };
  const behaviour = behaviourOf(state, backend.imageId);
  const unhealthy =
    behaviour === 'unhealthy' ||
    behaviour === 'never-ready' ||
    (typeof behaviour === 'object' && (behaviour.kind === 'unhealthy-after') === age >= behaviour.ms);
  return unhealthy
    ? { status: 503, ok: false, reason: 'the database does not answer' }
    : { status: 200, ok: true, reason: null };
}
