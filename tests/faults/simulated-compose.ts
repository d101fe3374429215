import type { UpAnswer } from '@station/agent/stack/stack-ports';
import { collectLayers, type StoredContainer } from './engine-storage.ts';
import { behaviourOf, conditionOf, findImage, type Desired, type EngineState } from './engine-state.ts';
import { pass, type WorldTime } from './virtual-clock.ts';

export type UpParts = {
  /** Called before each change of a container. */
  step: (label: string) => void;
  time: WorldTime;
};

/** After this time the caller aborts an `up` that waits for a container. */
const upTimeoutMs = 600_000;

/** `docker compose up --detach`: one service after another. A container is replaced only when necessary. */
export function bringUp(state: EngineState, desired: Desired, parts: UpParts): UpAnswer {
  if (!desired) return { kind: 'failed', reason: 'the compose files cannot be read' };
  let stoppedAtMs: number | null = null;
  for (const [service, image] of desired) {
    const answer = bringUpService(state, service, image, parts);
    if (answer.kind === 'failed') return answer;
    stoppedAtMs ??= answer.stoppedAtMs;
    if (!answer.ready) return waitInVain(state, service, parts.time);
  }
  return { kind: 'ok', stoppedAtMs };
}

type ServiceAnswer = { kind: 'ok'; stoppedAtMs: number | null; ready: boolean } | { kind: 'failed'; reason: string };

function bringUpService(state: EngineState, service: string, image: string, { step, time }: UpParts): ServiceAnswer {
  const { containers } = state.live;
  if (!image.startsWith('sha256:') && findImage(state.live, image) === null) fetchForCompose(state, image);
  const imageId = findImage(state.live, image);
  const own = [...containers.values()].filter((one) => one.service === service);
  // Compose recreates a container when its image or the image's name changes.
  const kept = own.find((one) => one.image === image && one.imageId === imageId);
  if (!kept && (imageId === null || conditionOf(state.live, imageId) === 'unusable')) {
    return { kind: 'failed', reason: `the image of "${service}" cannot be used` };
  }
  step(`${service}: create`);
  const container = kept ?? newContainer(state, service, image, imageId as string);
  containers.set(container.id, container);
  let stoppedAtMs: number | null = null;
  for (const other of own.filter((one) => one !== kept)) {
    step(`${service}: stop the old one`);
    if (other.status === 'started') stoppedAtMs ??= time.wallMs;
    containers.set(other.id, { ...other, status: 'exited', exitCode: 0 });
    step(`${service}: remove the old one`);
    containers.delete(other.id);
    collectLayers(state.live);
  }
  const ready = behaviourOf(state, container.imageId) !== 'never-ready';
  if (container.status === 'started') return { kind: 'ok', stoppedAtMs, ready };
  step(`${service}: start`);
  if (conditionOf(state.live, container.imageId) === 'unusable') {
    return { kind: 'failed', reason: `the container of "${service}" cannot be started` };
  }
  containers.set(container.id, { ...container, status: 'started', sinceMs: time.monotonicMs });
  return { kind: 'ok', stoppedAtMs, ready };
}

function waitInVain(state: EngineState, service: string, time: WorldTime): UpAnswer {
  state.waitedMs += upTimeoutMs;
  pass(time, upTimeoutMs);
  return { kind: 'failed', reason: `"${service}" never became ready`, hung: true };
}

/** Compose itself pulls missing images that the stack's own file names. */
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

/** Completes an `up` without a caller once its time has passed. */
export function finishOrphan(state: EngineState, time: WorldTime): void {
  const { orphan } = state;
  if (!orphan || orphan.dueMs > time.monotonicMs) return;
  state.orphan = null;
  bringUp(state, orphan.desired, { step: () => undefined, time: { ...time, monotonicMs: orphan.dueMs } });
}
