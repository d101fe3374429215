import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { exists } from '@station/kit/durable-files';
import { baseRecipes, type BaseRecipe } from './base-recipes.ts';
import { buildRoot, debianArch, hostArch, onThisMachine } from './base-roots.ts';
import { cacheFolder, needPackages, tell } from './debian.ts';
import type { DockerEngine } from './docker-engine.ts';
import { run } from './program.ts';

/** Loads upstream images (`caddy:2`, …) into an engine, from the cache or, the first time, built from Debian packages. */
export async function loadBaseImages(engine: DockerEngine, names: readonly string[]): Promise<void> {
  for (const name of names) await engine.docker('load', '--quiet', '--input', await baseImage(name));
}

/**
 * Path of a base image as a tar file that `docker load` reads. Needs root (file owners).
 * @throws when there is no recipe of that name.
 */
async function baseImage(name: string): Promise<string> {
  const recipe = baseRecipes(process.execPath).find((each) => each.name === name);
  if (recipe === undefined) throw new Error(`no recipe for a base image named ${name}`);
  await needPackages([...recipe.packages, 'busybox-static']);
  const key = createHash('sha256')
    .update(JSON.stringify([recipe, await inputsOf(recipe)]))
    .digest('hex')
    .slice(0, 12);
  const cached = join(cacheFolder, `${name.replaceAll(/[^a-z0-9.-]/g, '-')}-${key}.tar`);
  if (await exists(cached)) return cached;
  tell(`Making the base image ${name} (once)`);
  await mkdir(cacheFolder, { recursive: true });
  const folder = await mkdtemp(join(cacheFolder, 'image-'));
  try {
    await buildRoot(recipe, join(folder, 'root'), hostArch);
    await packImage(recipe, folder);
    await rename(join(folder, 'image.tar'), cached);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return cached;
}

/** Packs a root folder into a layer with file capabilities. Pax without dates of access, so that it is reproducible. */
export async function packRoot(root: string, layer: string): Promise<void> {
  const attributes = ['--xattrs', '--xattrs-include=security.capability', '--format=pax', '--mtime=@0', '--sort=name'];
  const stable = ['--pax-option=delete=atime,delete=ctime,exthdr.name=%d/PaxHeaders/%f'];
  await run('tar', [...attributes, ...stable, '--numeric-owner', '-C', root, '-cf', layer, '.']);
}

/** Sizes and dates of the programs, so that an updated package makes a new image. */
export async function inputsOf(recipe: BaseRecipe): Promise<unknown[]> {
  const stats = Object.keys(recipe.files).map((source) => stat(onThisMachine(source)));
  return (await Promise.all(stats)).map(({ size, mtimeMs }) => [size, mtimeMs]);
}

/** Writes `image.tar` in the form that `docker save` writes: layer, configuration and manifest. */
async function packImage(recipe: BaseRecipe, folder: string): Promise<void> {
  const layer = join(folder, 'layer.tar');
  await packRoot(join(folder, 'root'), layer);
  const hash = createHash('sha256');
  await pipeline(createReadStream(layer), hash);
  const config = {
    architecture: debianArch(hostArch),
    os: 'linux',
    created: '2026-01-01T00:00:00Z',
    config: recipe.config,
    rootfs: { type: 'layers', diff_ids: [`sha256:${hash.digest('hex')}`] },
  };
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  const manifest = [{ Config: 'config.json', RepoTags: [recipe.name], Layers: ['layer.tar'] }];
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
  await run('tar', ['-C', folder, '-cf', join(folder, 'image.tar'), 'manifest.json', 'config.json', 'layer.tar']);
}
