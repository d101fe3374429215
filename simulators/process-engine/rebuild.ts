import type { LayersAnswer, PullAnswer, RebuildAnswer, Rebuilding, RebuildResult } from './engine-port.ts';
import type { ImageStore } from './image-store.ts';
import type { Stack } from './stack.ts';

type RebuildParts = {
  store: ImageStore;
  stack: Pick<Stack, 'containers' | 'stop'>;
  layers: (reference: string) => Promise<LayersAnswer>;
  pull: (reference: string) => Promise<PullAnswer>;
  signal: AbortSignal;
};

type Condition = 'whole' | 'damaged' | 'absent';

export async function checkImage(store: ImageStore, id: string, signal: AbortSignal): Promise<Condition> {
  if ((await store.resolve(id)) === null) return 'absent';
  return (await store.verify(id, signal)) ? 'whole' : 'damaged';
}

/** Images share nothing here, so each one is pulled or stays by itself. */
export async function planRebuild(
  parts: RebuildParts,
  damaged: readonly string[],
  known: Readonly<Record<string, string>>,
): Promise<RebuildAnswer> {
  const references: Record<string, string> = {};
  const unoffered: string[] = [];
  for (const id of damaged) {
    const reference = known[id];
    if (reference !== undefined && (await isOffered(parts, id, reference))) references[id] = reference;
    else unoffered.push(id);
  }
  return {
    rebuilding: Object.keys(references).length === 0 ? null : { saved: [], references },
    refused: unoffered.length === 0 ? [] : [{ reason: 'needs_registry', imageIds: unoffered }],
  };
}

export async function rebuildImages(parts: RebuildParts, { references }: Rebuilding): Promise<RebuildResult> {
  const { store, stack, signal } = parts;
  for (const [id, reference] of Object.entries(references)) {
    if (!(await isOffered(parts, id, reference))) return { kind: 'failed', reason: 'needs_registry' };
    for (const { record } of stack.containers()) if (record.imageId === id) await stack.stop(record.service);
    await store.remove(id);
    await parts.pull(reference);
    const condition = await checkImage(store, id, signal);
    if (condition !== 'whole') {
      return { kind: 'failed', reason: condition === 'absent' ? 'needs_registry' : 'stays_damaged' };
    }
  }
  await store.sync();
  return { kind: 'rebuilt' };
}

async function isOffered({ layers }: RebuildParts, id: string, reference: string): Promise<boolean> {
  const answer = await layers(reference);
  return answer.kind === 'ok' && answer.imageIds.includes(id);
}
