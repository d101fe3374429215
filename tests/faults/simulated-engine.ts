import { StationError } from '@station/kit/station-error';
import type { ContainerFact } from '@station/agent/containers/facts';
import type { PullAnswer, RegistryFailure, StackEngine, UpAnswer } from '@station/agent/containers/ports';
import type { ProbeAnswer } from '@station/agent/health/watch';
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
import type { SimulatedProcess } from './process.ts';
import { pass, type WorldTime } from './virtual-clock.ts';

/** How the program inside an image behaves once it runs. */
export type Behaviour =
  | 'good'
  | 'unhealthy'
  | 'crash-looping'
  /** Healthy only after a while, or only for a while. */
  | { kind: 'healthy-after' | 'sick-after'; ms: number };

/** An image as registries have it. */
export type PublishedImage = { id: string; digest: string };

/** What does not change while the world runs. */
export type Catalogue = {
  /** Reference → image; what is missing here is missing at the registry. */
  published: ReadonlyMap<string, PublishedImage>;
  /** Image id → behaviour; `good` when it is not named. */
  behaviours: ReadonlyMap<string, Behaviour>;
};

export type EngineState = {
  catalogue: Catalogue;
  /** As everybody sees it, and as a power cut would find it. */
  live: EngineStorage;
  durable: EngineStorage;
  registry: 'up' | 'down' | 'hanging';
  /** The registry goes away after this many more pulls; null: it stays. */
  pullsLeft: number | null;
  /** An `up` whose caller was killed and which comes to its end by itself. */
  orphan: { desired: Desired; dueMs: number } | null;
  nextSerial: number;
  /** How long the registry was waited for in vain, in all. */
  waitedMs: number;
};

/** Compose service → image as the compose files spell it; null when they cannot be read. */
export type Desired = ReadonlyMap<string, string> | null;

export type EngineParts = {
  state: EngineState;
  time: WorldTime;
  process: SimulatedProcess;
  /** The compose project as Compose would read it now. */
  readProject: () => Desired;
  /** Thrown in place of a call; null: it works. */
  fault?: (call: string) => Error | null;
};

const startsWithinMs = 1500;
const slowestStepMs = 300;
const orphanMs = 3000;

export function emptyEngine(catalogue: Catalogue): EngineState {
  return {
    catalogue,
    live: emptyStorage(),
    durable: emptyStorage(),
    registry: 'up',
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

/** Docker with Compose as `StackEngine` sees them, with Docker's durability: nothing is on disk before `sync`. */
export function createSimulatedEngine(parts: EngineParts): StackEngine {
  const { state, time, process, fault = () => null } = parts;
  const call = (name: string, costMs: number): void => {
    process.point(`engine.${name}`);
    finishOrphan(state, time);
    const error = fault(name);
    if (error) throw error;
    pass(time, costMs);
  };
  return {
    services: async () => {
      call('services', 50);
      return [...(parts.readProject()?.keys() ?? [])];
    },
    containers: async () => {
      call('containers', 20);
      return [...state.live.containers.values()].map((container) => describe(state, container, time.monotonicMs));
    },
    imageId: async (reference) => {
      call('imageId', 5);
      return findImage(state.live, reference);
    },
    heldImages: async () => {
      call('heldImages', 5);
      return [...state.live.holds];
    },
    hold: async (imageId) => {
      call('hold', 50);
      // The engine says "name in use" to a second hold, and looks at the image no more.
      if (state.live.holds.has(imageId)) return 'held';
      if (!state.live.images.has(imageId)) return 'absent';
      if (conditionOf(state.live, imageId) === 'unusable') return 'broken';
      state.live.holds.add(imageId);
      return 'held';
    },
    releaseHold: async (imageId) => {
      call('releaseHold', 50);
      state.live.holds.delete(imageId);
      collectLayers(state.live);
    },
    removeImage: async (reference, { force }) => {
      call('removeImage', 100);
      return removeImage(state, reference, force, time.monotonicMs);
    },
    layers: async (reference) => {
      call('layers', 100);
      if (state.registry !== 'up') {
        waitForNobody(state, time, 30_000);
        return { kind: 'unknown' };
      }
      const image = state.catalogue.published.get(reference);
      return image ? { kind: 'ok', layers: { [`layer-of-${image.id}`]: 1_000_000 } } : missing(reference);
    },
    freeBytes: async () => {
      call('freeBytes', 5);
      return 10 ** 10;
    },
    pull: async (reference, onProgress) => {
      call('pull', 500);
      onProgress({ doneBytes: 500_000, totalBytes: 1_000_000 });
      return pull(parts, reference);
    },
    verifyImage: async (imageId) => {
      call('verifyImage', 2000);
      return state.live.images.has(imageId) && conditionOf(state.live, imageId) === 'whole';
    },
    up: async () => {
      call('up', 100);
      return bringUp(parts);
    },
    sync: async () => {
      call('sync', 100);
      state.durable = copyStorage(state.live);
    },
  };
}

/** One request to the health check address, as the running containers answer it. */
export function probeStack(state: EngineState, time: WorldTime): ProbeAnswer {
  const running = [...state.live.containers.values()].filter(
    (one) => describe(state, one, time.monotonicMs).state === 'running',
  );
  const runs = (service: string): boolean => running.some((one) => one.service === service);
  const backend = running.find((one) => one.service === 'backend');
  if (!runs('mqtt') || !runs('frontend')) return { status: 502, ok: false, reason: 'the proxy has nobody to ask' };
  const age = backend ? time.monotonicMs - backend.sinceMs : 0;
  if (!backend || age < startsWithinMs) return { status: null, ok: false, reason: 'connection refused' };
  const behaviour = behaviourOf(state, backend.imageId);
  const sick =
    behaviour === 'unhealthy' ||
    (typeof behaviour === 'object' && (behaviour.kind === 'sick-after') === age >= behaviour.ms);
  return sick ? { status: 503, ok: false, reason: 'the database is away' } : { status: 200, ok: true, reason: null };
}

/** `docker image prune --all --force`: what no container and no hold stands on is removed. */
export function pruneImages(state: EngineState): void {
  const used = new Set([...state.live.holds, ...[...state.live.containers.values()].map((one) => one.imageId)]);
  for (const id of [...state.live.images.keys()]) if (!used.has(id)) state.live.images.delete(id);
  collectLayers(state.live);
}

/** Power cut and boot: what was not synced is lost as `choose` says, and Docker starts what it knows as started. */
export function cutEngine(state: EngineState, choose: Choose, nowMs: number): void {
  state.orphan = null;
  state.live = cutStorage(state.live, state.durable, choose, nowMs);
  state.durable = copyStorage(state.live);
}

/** The agent is killed in the middle of `up`: Compose dies with it, or comes to its end by itself. */
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

const behaviourOf = (state: EngineState, imageId: string): Behaviour =>
  state.catalogue.behaviours.get(imageId) ?? 'good';

/** Docker's back-off between restarts: 100 ms, doubled each time, a minute at most. */
const crashesAfterMs = 400;

export function describe(state: EngineState, container: StoredContainer, nowMs: number): ContainerFact {
  const { id, service, image, imageId, status, exitCode } = container;
  const fact = { id, service, image, imageId, health: 'none', restartCount: 0, exitCode };
  if (status !== 'started') return { ...fact, state: status };
  const crashes = behaviourOf(state, imageId) === 'crash-looping' || conditionOf(state.live, imageId) === 'rotten';
  if (!crashes) return { ...fact, state: 'running', exitCode: 0 };
  let restartCount = 0;
  for (let at = container.sinceMs; ; restartCount += 1) {
    at += crashesAfterMs;
    if (nowMs < at) return { ...fact, state: 'running', restartCount };
    at += Math.min(60_000, 100 * 2 ** restartCount);
    if (nowMs < at) return { ...fact, state: 'restarting', restartCount, exitCode: 1 };
  }
}

async function pull(parts: EngineParts, reference: string): Promise<PullAnswer> {
  const { state, time, process } = parts;
  if (state.registry !== 'up') return unreachable(state, time);
  const image = state.catalogue.published.get(reference);
  if (!image) return missing(reference);
  // An image that is there is not looked at again, however broken it is; nor are layers.
  if (!state.live.layers.has(image.id)) {
    state.live.layers.set(image.id, { condition: 'whole', serial: state.nextSerial++ });
    process.point('engine.pull, layers unpacked');
  }
  pass(time, 1500);
  const references = new Set([...(state.live.images.get(image.id)?.references ?? []), reference, image.digest]);
  state.live.images.set(image.id, { references: [...references] });
  if (state.pullsLeft !== null) {
    state.pullsLeft -= 1;
    if (state.pullsLeft <= 0) state.registry = 'down';
  }
  return { kind: 'ok', imageId: image.id, digest: image.digest };
}

type Removal = 'removed' | 'in_use' | 'absent';

function removeImage(state: EngineState, reference: string, force: boolean, nowMs: number): Removal {
  const id = findImage(state.live, reference);
  if (id === null) return 'absent';
  const users = [...state.live.containers.values()].filter((one) => one.imageId === id);
  if (users.some((one) => ['running', 'restarting'].includes(describe(state, one, nowMs).state))) return 'in_use';
  if (force) {
    for (const one of users) state.live.containers.delete(one.id);
    state.live.holds.delete(id);
  }
  state.live.images.delete(id);
  collectLayers(state.live);
  return 'removed';
}

async function bringUp(parts: EngineParts): Promise<UpAnswer> {
  const { state, time, process, readProject } = parts;
  if (state.orphan) {
    finishOrphan(state, { ...time, monotonicMs: state.orphan.dueMs });
    return { kind: 'failed', reason: 'a container of that name is in use' };
  }
  return applyProject(state, readProject(), {
    step: (label) => {
      process.point(`engine.up, ${label}`);
      pass(time, slowestStepMs);
    },
    time,
  });
}

function finishOrphan(state: EngineState, time: WorldTime): void {
  const { orphan } = state;
  if (!orphan || orphan.dueMs > time.monotonicMs) return;
  state.orphan = null;
  applyProject(state, orphan.desired, { step: () => undefined, time: { ...time, monotonicMs: orphan.dueMs } });
}

type UpSteps = { step: (label: string) => void; time: WorldTime };

/** `docker compose up --detach` without the network: service after service, each container replaced only when it must be. */
function applyProject(state: EngineState, desired: Desired, { step, time }: UpSteps): UpAnswer {
  if (!desired) return { kind: 'failed', reason: 'the compose files cannot be read' };
  const { containers } = state.live;
  let stoppedAtMs: number | null = null;
  for (const [service, image] of desired) {
    if (!image.startsWith('sha256:') && findImage(state.live, image) === null) fetchForCompose(state, image);
    const imageId = findImage(state.live, image);
    const own = [...containers.values()].filter((one) => one.service === service);
    // Compose makes a container anew when its image is another, or is only spelled another way.
    const kept = own.find((one) => one.image === image && one.imageId === imageId);
    if (!kept && (imageId === null || conditionOf(state.live, imageId) === 'unusable')) {
      return { kind: 'failed', reason: `the image of "${service}" cannot be used` };
    }
    step(`${service}: create`);
    const container = kept ?? newContainer(state, service, image, imageId as string);
    containers.set(container.id, container);
    for (const other of own.filter((one) => one !== kept)) {
      step(`${service}: stop the old one`);
      if (other.status === 'started') stoppedAtMs ??= time.wallMs;
      containers.set(other.id, { ...other, status: 'exited', exitCode: 0 });
      step(`${service}: remove the old one`);
      containers.delete(other.id);
      collectLayers(state.live);
    }
    if (container.status === 'started') continue;
    step(`${service}: start`);
    if (conditionOf(state.live, container.imageId) === 'unusable') {
      return { kind: 'failed', reason: `the container of "${service}" cannot be started` };
    }
    containers.set(container.id, { ...container, status: 'started', sinceMs: time.monotonicMs });
  }
  return { kind: 'ok', stoppedAtMs };
}

/** Compose itself fetches what the stack's own file names and is not there. */
function fetchForCompose(state: EngineState, reference: string): void {
  const image = state.registry === 'up' ? state.catalogue.published.get(reference) : undefined;
  if (!image) return;
  if (!state.live.layers.has(image.id)) {
    state.live.layers.set(image.id, { condition: 'whole', serial: state.nextSerial++ });
  }
  state.live.images.set(image.id, { references: [reference, image.digest] });
}

function newContainer(state: EngineState, service: string, image: string, imageId: string): StoredContainer {
  const id = `container-${state.nextSerial++}`;
  return { id, service, image, imageId, status: 'created', sinceMs: 0, exitCode: 0 };
}

function unreachable(state: EngineState, time: WorldTime): RegistryFailure {
  waitForNobody(state, time, 120_000);
  return { kind: 'failed', code: 'registry_unavailable', reason: 'the registry does not answer', transient: true };
}

/** Told at once when the network is known to be away, after a long wait when packets only vanish. */
function waitForNobody(state: EngineState, time: WorldTime, longestMs: number): void {
  const ms = state.registry === 'hanging' ? longestMs : 200;
  state.waitedMs += ms;
  pass(time, ms);
}

const missing = (reference: string): RegistryFailure => ({
  kind: 'failed',
  code: 'image_missing',
  reason: `${reference} is not at its registry`,
  transient: false,
});

/** An engine whose daemon does not answer. */
export const engineAway = (): StationError => new StationError('unavailable', 'the container engine does not answer');
