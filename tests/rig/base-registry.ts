import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { exists } from '@station/kit/durable-files';
import type { Architecture } from '../../scripts/build-agent.ts';
import { inputsOf, packRoot } from './base-images.ts';
import { baseRecipes, type BaseRecipe } from './base-recipes.ts';
import { buildRoot } from './base-roots.ts';
import { cacheFolder, tell } from './debian.ts';
import { pushImage, pushIndex, type Layer, type PushedImage } from './image-push.ts';
import { createRegistry, type Registry } from './registry.ts';
import type { Workspace } from './workspace.ts';

/** What a release asks for: base images (scripts/release/image-recipes.ts), and the images of others in the compose file. */
const names = ['node:26-bookworm-slim', 'caddy:2', 'eclipse-mosquitto:2', 'postgres:17'];

/**
 * Starts a registry that stands for Docker Hub: `library/node`, `library/caddy` and others. Its content is built once (about 10 s for an
 * architecture; packages of another one come over the network) and kept in the cache.
 */
export async function createBaseRegistry(workspace: Workspace, archs: readonly Architecture[]): Promise<Registry> {
  const recipes = baseRecipes(process.execPath).filter(({ name }) => names.includes(name));
  const inputs = await Promise.all(recipes.map(async (recipe) => [recipe, await inputsOf(recipe)]));
  const key = createHash('sha256')
    .update(JSON.stringify([archs, inputs]))
    .digest('hex')
    .slice(0, 12);
  const storage = join(cacheFolder, `base-registry-${key}`);
  if (!(await exists(storage))) await fill(workspace, recipes, { archs, storage });
  return createRegistry(workspace, { name: 'base-registry', storage });
}

async function fill(
  workspace: Workspace,
  recipes: readonly BaseRecipe[],
  { archs, storage }: { archs: readonly Architecture[]; storage: string },
): Promise<void> {
  tell(`Making the base images for ${archs.join(' and ')} (once)`);
  await mkdir(cacheFolder, { recursive: true });
  const folder = await mkdtemp(join(cacheFolder, 'filling-'));
  try {
    const registry = await createRegistry(workspace, { name: 'filling-registry', storage: join(folder, 'data') });
    for (const recipe of recipes) await pushBase(registry, recipe, { archs, folder });
    await registry.stop();
    // Another test may have done the same at the same time.
    await rename(join(folder, 'data'), storage).catch(async (error: unknown) => {
      if (!(await exists(storage))) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function pushBase(
  registry: Registry,
  recipe: BaseRecipe,
  { archs, folder }: { archs: readonly Architecture[]; folder: string },
): Promise<void> {
  const [repository = '', tag = ''] = `library/${recipe.name}`.split(':');
  const images: PushedImage[] = [];
  for (const arch of archs) {
    const root = join(folder, `${repository}-${arch}`);
    await buildRoot(recipe, root, arch);
    const layer = await layerOf(root);
    const image = { layers: [layer], config: recipe.config, arch };
    images.push({ arch, digest: await pushImage(registry, { repository, tag: `${tag}-${arch}` }, image) });
  }
  await pushIndex(registry, { repository, tag }, images);
}

async function layerOf(root: string): Promise<Layer> {
  const file = `${root}.tar`;
  await packRoot(root, file);
  const tar = await readFile(file);
  const bytes = await promisify(gzip)(tar, { level: 1 });
  const digest = (content: Uint8Array): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;
  return { digest: digest(bytes), diffId: digest(tar), bytes };
}
