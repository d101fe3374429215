import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { EngineApi, ReadInfo } from './engine-api.ts';
import { packArchive } from './archive.ts';

/** One layer in the engine's layer database. Both ids are `sha256:…`. */
type StoredLayer = { chainId: string; diffId: string; parent: string | null };

const DiskUse = Type.Object({ BuildCache: Type.Optional(Type.Union([Type.Array(Type.Unknown()), Type.Null()])) });
const Deleted = Type.Array(Type.Object({ Deleted: Type.Optional(Type.String()) }));

/**
 * Lets the engine remove the layers that no image and no container has. A pull that a power cut ended leaves such layers, possibly
 * damaged; each later pull reuses them, and neither prune nor a restart removes them (Docker 20.10 to 28, `layer/layer_store.go`).
 * The engine can only remove images. So each chain of layers becomes an image without a name, which is removed at once: the engine
 * counts uses, and removes exactly the layers that nothing else has. Layers of a build cache count as unused, so nothing is removed while there is one.
 * An engine without the layer database of a graph driver (containerd's image store) has no such layers.
 * @returns how many layers were removed.
 * @throws StationError `unavailable` when the engine cannot be reached.
 */
export async function removeLooseLayers(api: EngineApi, info: ReadInfo): Promise<number> {
  const { DockerRootDir, Driver } = await info();
  if (Driver === undefined || (await hasBuildCache(api))) return 0;
  const layers = await readStoredLayers(join(DockerRootDir, 'image', Driver, 'layerdb', 'sha256'));
  let removed = 0;
  for (const chain of findChains(layers)) removed += await removeThroughImage(api, chain);
  return removed;
}

async function hasBuildCache(api: EngineApi): Promise<boolean> {
  const { status, body } = await api.call('GET', '/system/df', { query: { type: 'build-cache' } });
  return status !== 200 || !Value.Check(DiskUse, body) || (body.BuildCache ?? []).length > 0;
}

/** The layers whose files are complete; the engine does not know the others either. */
async function readStoredLayers(folder: string): Promise<StoredLayer[]> {
  const names = await readdir(folder).catch(() => []);
  const layers: StoredLayer[] = [];
  for (const name of names.filter((each) => /^[0-9a-f]{64}$/.test(each))) {
    const [diffId, parent] = await Promise.all(['diff', 'parent'].map((file) => readId(join(folder, name, file))));
    if (diffId) layers.push({ chainId: `sha256:${name}`, diffId, parent: parent ?? null });
  }
  return layers;
}

async function readId(path: string): Promise<string | null> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return /^sha256:[0-9a-f]{64}$/.exec(text.trim())?.[0] ?? null;
}

/** Diff ids from the base up, for each layer that no other stands on. A chain with a missing layer is left out. */
export function findChains(layers: readonly StoredLayer[]): string[][] {
  const byId = new Map(layers.map((layer) => [layer.chainId, layer]));
  const parents = new Set(layers.map(({ parent }) => parent));
  return layers.flatMap((top) => {
    if (parents.has(top.chainId)) return [];
    const chain: string[] = [];
    for (let at: StoredLayer | undefined = top; at; at = byId.get(at.parent ?? '')) {
      chain.unshift(at.diffId);
      if (at.parent === null) return [chain];
    }
    return [];
  });
}

/** @returns how many layers the engine removed with the image; 0 when something else has all of them. */
async function removeThroughImage(api: EngineApi, diffIds: readonly string[]): Promise<number> {
  // The same layers give the same image, so what a crash left between the two calls is removed by the next run.
  const config = JSON.stringify({
    architecture: 'unknown',
    author: 'station-agent',
    os: 'linux',
    config: {},
    rootfs: { type: 'layers', diff_ids: diffIds },
  });
  // Names of files that are not in the archive: the engine reads them only for layers that it does not have.
  const manifest = JSON.stringify([
    { Config: 'config.json', RepoTags: null, Layers: diffIds.map((_, index) => `${index}`) },
  ]);
  const archive = packArchive({ 'config.json': config, 'manifest.json': manifest });
  await api.call('POST', '/images/load', { query: { quiet: 'true' }, archive });
  const id = `sha256:${createHash('sha256').update(config).digest('hex')}`;
  const { status, body } = await api.call('DELETE', `/images/${encodeURIComponent(id)}`);
  if (status !== 200 || !Value.Check(Deleted, body)) return 0;
  return body.filter((each) => each.Deleted !== undefined && each.Deleted !== id).length;
}
