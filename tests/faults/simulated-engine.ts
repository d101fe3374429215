import { StationError } from '@station/kit/station-error';
import type { ImageCondition, StackEngine, UpAnswer } from '@station/agent/stack/stack-ports';
import { conditionOf, describe, findImage, type Desired, type EngineState } from './engine-state.ts';
import { collectLayers, copyStorage } from './engine-storage.ts';
import type { SimulatedProcess } from './process.ts';
import { bringUp, finishOrphan } from './simulated-compose.ts';
import { checkNow, planRebuild, rebuildImages } from './simulated-rebuild.ts';
import { askLayers, pullImage } from './simulated-registry.ts';
import { pass, type WorldTime } from './virtual-clock.ts';

export type EngineParts = {
  state: EngineState;
  time: WorldTime;
  process: SimulatedProcess;
  /** The compose project as Compose would read it now. */
  readProject: () => Desired;
  /** Thrown instead of a call; null: the call works. */
  fault?: (call: string) => Error | null;
};

const slowestStepMs = 300;

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
      const running = [...(parts.readProject()?.keys() ?? [])];
      return { running, declared: running };
    },
    containers: async () => {
      call('containers', 20);
      return [...state.live.containers.values()].map((container) => describe(state, container, time.monotonicMs));
    },
    imageId: async (reference) => {
      call('imageId', 5);
      return findImage(state.live, reference);
    },
    pinnedImages: async () => {
      call('pinnedImages', 5);
      return [...state.live.pins];
    },
    pinImage: async (imageId) => {
      call('pinImage', 50);
      // The engine answers "name in use" to a second pin, without checking the image again.
      if (state.live.pins.has(imageId)) return 'pinned';
      if (!state.live.images.has(imageId)) return 'absent';
      if (conditionOf(state.live, imageId) === 'unusable') return 'broken';
      state.live.pins.add(imageId);
      return 'pinned';
    },
    unpinImage: async (imageId) => {
      call('unpinImage', 50);
      state.live.pins.delete(imageId);
      collectLayers(state.live);
    },
    removeImage: async (reference, { force }) => {
      call('removeImage', 100);
      return removeImage(state, reference, force, time.monotonicMs);
    },
    layers: async (reference) => {
      call('layers', 100);
      return askLayers(parts, reference);
    },
    freeBytes: async () => {
      call('freeBytes', 5);
      return 10 ** 10;
    },
    roomPerByte: async () => 3,
    pull: async (reference, onProgress, signal) => {
      call('pull', 500);
      onProgress({ doneBytes: 500_000, totalBytes: 1_000_000 });
      return pullImage(parts, reference, signal);
    },
    // All of them belong to a release.
    namedImages: async () => ({}),
    checkImages: async (imageIds) => {
      const found = new Map<string, ImageCondition>();
      for (const id of imageIds) {
        call('checkImages', 2000);
        found.set(id, checkNow(state, id));
      }
      return found;
    },
    planRebuild: async (damaged, references) => {
      call('planRebuild', 2000);
      return planRebuild(parts, damaged, references);
    },
    rebuildImages: async (rebuilding, signal) => {
      call('rebuildImages', 500);
      return rebuildImages(parts, rebuilding, signal);
    },
    // Layers without an image vanish with their last image here; a real engine keeps those of an interrupted pull.
    repairStorage: async () => false,
    up: async () => {
      call('up', 100);
      return up(parts);
    },
    setRunning: async (service, running) => {
      call('setRunning', 200);
      for (const one of [...state.live.containers.values()].filter((each) => each.service === service)) {
        const change = running
          ? ({ status: 'started', sinceMs: one.status === 'started' ? one.sinceMs : time.monotonicMs } as const)
          : ({ status: 'exited', exitCode: 0 } as const);
        state.live.containers.set(one.id, { ...one, ...change });
      }
    },
    sync: async () => {
      call('sync', 100);
      state.durable = copyStorage(state.live);
    },
  };
}

function up({ state, time, process, readProject }: EngineParts): UpAnswer {
  if (state.orphan) {
    finishOrphan(state, { ...time, monotonicMs: state.orphan.dueMs });
    return { kind: 'failed', reason: 'a container of that name is in use' };
  }
  const step = (label: string): void => {
    process.point(`engine.up, ${label}`);
    pass(time, slowestStepMs);
  };
  return bringUp(state, readProject(), { step, time });
}

type Removal = 'removed' | 'in_use' | 'absent';

function removeImage(state: EngineState, reference: string, force: boolean, nowMs: number): Removal {
  const id = findImage(state.live, reference);
  if (id === null) return 'absent';
  const users = [...state.live.containers.values()].filter((one) => one.imageId === id);
  if (users.some((one) => ['running', 'restarting'].includes(describe(state, one, nowMs).state))) return 'in_use';
  if (force) {
    for (const one of users) state.live.containers.delete(one.id);
    state.live.pins.delete(id);
  }
  state.live.images.delete(id);
  collectLayers(state.live);
  return 'removed';
}

/** An engine whose daemon does not answer. */
export const engineOffline = (): StationError =>
  new StationError('unavailable', 'the container engine does not answer');
