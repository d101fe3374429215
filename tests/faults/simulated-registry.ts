import type { LayersAnswer, PullAnswer, RegistryFailure } from '@station/agent/stack/stack-ports';
import type { EngineState } from './engine-state.ts';
import type { SimulatedProcess } from './process.ts';
import { pass, type WorldTime } from './virtual-clock.ts';

export type RegistryParts = { state: EngineState; time: WorldTime; process: SimulatedProcess };

const askTimeoutMs = 30_000;
const pullTimeoutMs = 120_000;
const pullMs = 1500;

/** Sizes of an image's layers. A silent registry is no failure here, because the pull will fail. */
export async function askLayers({ state, time }: RegistryParts, reference: string): Promise<LayersAnswer> {
  if (state.registry !== 'up') {
    waitInVain(state, time, askTimeoutMs);
    return { kind: 'unknown' };
  }
  const image = state.catalogue.published.get(reference);
  return image
    ? { kind: 'ok', layers: { [`layer-of-${image.id}`]: 1_000_000 }, imageIds: [image.id] }
    : missing(reference);
}

/** Fetches an image. An existing image or layer is not checked again, even if it is broken. */
export async function pullImage(parts: RegistryParts, reference: string, signal: AbortSignal): Promise<PullAnswer> {
  const { state, time, process } = parts;
  if (state.registry === 'silent') return silence(parts, signal);
  if (state.registry !== 'up') {
    waitInVain(state, time, pullTimeoutMs);
    return { kind: 'failed', code: 'registry_unavailable', reason: 'the registry does not answer', transient: true };
  }
  const image = state.catalogue.published.get(reference);
  if (!image) return missing(reference);
  if (!state.live.layers.has(image.id)) {
    state.live.layers.set(image.id, { condition: 'whole', serial: state.nextSerial++ });
    process.point('engine.pull, layers unpacked');
  }
  pass(time, pullMs);
  // A tag names the image that was fetched by it last.
  for (const [id, { references }] of state.live.images) {
    const left = references.filter((one) => one !== reference || id === image.id);
    if (left.length < references.length) state.live.images.set(id, { references: left });
  }
  const references = new Set([...(state.live.images.get(image.id)?.references ?? []), reference, image.digest]);
  state.live.images.set(image.id, { references: [...references] });
  if (state.pullsLeft !== null) {
    state.pullsLeft -= 1;
    if (state.pullsLeft <= 0) state.registry = 'down';
  }
  return { kind: 'ok', imageId: image.id, digest: image.digest };
}

/** A dead connection never answers until the caller aborts. */
async function silence({ state, time }: RegistryParts, signal: AbortSignal): Promise<never> {
  const fromMs = time.monotonicMs;
  const broken = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => broken.reject(signal.reason), { once: true });
  try {
    return await broken.promise;
  } finally {
    state.waitedMs += time.monotonicMs - fromMs;
  }
}

/** Fails immediately when the network is known to be down, and after a long wait when packets are lost. */
function waitInVain(state: EngineState, time: WorldTime, longestMs: number): void {
  const ms = state.registry === 'down' ? 200 : longestMs;
  state.waitedMs += ms;
  pass(time, ms);
}

const missing = (reference: string): RegistryFailure => ({
  kind: 'failed',
  code: 'image_missing',
  reason: `${reference} is not at its registry`,
  transient: false,
});
