import type { ImageCondition, RebuildAnswer, Rebuilding, RebuildResult } from '@station/agent/stack/stack-ports';
import { conditionOf, type EngineState } from './engine-state.ts';
import { collectLayers, copyStorage } from './engine-storage.ts';
import { askLayers, pullImage, type RegistryParts } from './simulated-registry.ts';

export function checkNow(state: EngineState, imageId: string): ImageCondition {
  if (!state.live.images.has(imageId)) return 'absent';
  if (state.cramped) return 'unknown';
  return conditionOf(state.live, imageId) === 'whole' ? 'whole' : 'damaged';
}

/** As with a graph driver: there is no second copy of a layer, so each one is pulled. */
export async function planRebuild(
  parts: RegistryParts,
  damaged: readonly string[],
  references: Readonly<Record<string, string>>,
): Promise<RebuildAnswer> {
  const wanted: Record<string, string> = {};
  const unoffered: string[] = [];
  for (const id of damaged) {
    const reference = references[id];
    if (reference !== undefined && (await isOffered(parts, id, reference))) wanted[id] = reference;
    else unoffered.push(id);
  }
  return {
    rebuilding: Object.keys(wanted).length === 0 ? null : { saved: [], references: wanted },
    refused: unoffered.length === 0 ? [] : [{ reason: 'needs_registry', imageIds: unoffered }],
  };
}

export async function rebuildImages(
  parts: RegistryParts,
  { references }: Rebuilding,
  signal: AbortSignal,
): Promise<RebuildResult> {
  const { state, process } = parts;
  const images = Object.entries(references);
  for (const [id, reference] of images) {
    if (!(await isOffered(parts, id, reference))) return { kind: 'failed', reason: 'needs_registry' };
  }
  for (const [id] of images) {
    process.point('engine.rebuildImages, one is removed');
    for (const one of [...state.live.containers.values()]) if (one.imageId === id) state.live.containers.delete(one.id);
    state.live.pins.delete(id);
    state.live.images.delete(id);
    collectLayers(state.live);
  }
  for (const [id, reference] of images) {
    process.point('engine.rebuildImages, one is pulled');
    await pullImage(parts, reference, signal);
    if (state.live.images.has(id)) state.live.pins.add(id);
  }
  process.point('engine.rebuildImages, nothing is synced');
  state.durable = copyStorage(state.live);
  for (const [id] of images) {
    const condition = checkNow(state, id);
    if (condition === 'absent') return { kind: 'failed', reason: 'needs_registry' };
    if (condition === 'damaged') return { kind: 'failed', reason: 'stays_damaged' };
  }
  return { kind: 'rebuilt' };
}

async function isOffered(parts: RegistryParts, id: string, reference: string): Promise<boolean> {
  const answer = await askLayers(parts, reference);
  return answer.kind === 'ok' && answer.imageIds.includes(id);
}
