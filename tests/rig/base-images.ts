import { createHash } from 'node:crypto';
import { chmod, chown, copyFile, mkdir, mkdtemp, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { exists } from '@station/kit/durable-files';
import { baseRecipes, type BaseRecipe } from './base-recipes.ts';
import { cacheFolder, needPackages, tell } from './debian.ts';
import type { DockerEngine } from './docker-engine.ts';
import { run, tryRun } from './program.ts';

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
    await buildRoot(recipe, join(folder, 'root'));
    await packImage(recipe, folder);
    await rename(join(folder, 'image.tar'), cached);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return cached;
}

/** Sizes and dates of the programs, so that an updated package makes a new image. */
async function inputsOf(recipe: BaseRecipe): Promise<unknown[]> {
  const stats = Object.keys(recipe.files).map((source) => stat(onThisMachine(source)));
  return (await Promise.all(stats)).map(({ size, mtimeMs }) => [size, mtimeMs]);
}

const triplet = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
const onThisMachine = (path: string): string => path.replace('<triplet>', triplet);

async function buildRoot(recipe: BaseRecipe, root: string): Promise<void> {
  await mkdir(join(root, 'bin'), { recursive: true });
  await put('/bin/busybox', join(root, 'bin/busybox'));
  for (const applet of (await run('/bin/busybox', ['--list'])).split('\n')) {
    if (applet !== 'busybox') await symlink('busybox', join(root, 'bin', applet));
  }
  for (const [source, target] of Object.entries(recipe.files)) {
    await put(onThisMachine(source), join(root, target));
    for (const library of await librariesOf(onThisMachine(source))) await put(library, join(root, library));
  }
  const { name, id } = recipe.user;
  await mkdir(join(root, 'etc'), { recursive: true });
  await writeFile(join(root, 'etc/passwd'), `root:x:0:0:root:/root:/bin/sh\n${name}:x:${id}:${id}:${name}:/:/bin/sh\n`);
  await writeFile(join(root, 'etc/group'), `root:x:0:\n${name}:x:${id}:\n`);
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  await mkdir(join(root, 'tmp'));
  await chmod(join(root, 'tmp'), 0o1777);
  for (const folder of recipe.folders) {
    await mkdir(join(root, folder), { recursive: true });
    await chown(join(root, folder), id, id);
  }
  for (const [path, capability] of Object.entries(recipe.capabilities ?? {})) {
    await run('setcap', [capability, join(root, path)]);
  }
}

async function put(source: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  // A symbolic link of its own would be followed: only busybox's applets are links here, and a file replaces its applet.
  await rm(target, { force: true });
  await copyFile(source, target);
}

/** Shared libraries a program loads, the loader among them; none for a static one or a script (ldd(1)). */
async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await tryRun('ldd', [program]);
  return [...stdout.matchAll(/(\/\S+) \(0x/g)].map((match) => match[1] as string);
}

/** Writes `image.tar` in the form that `docker save` writes: layer, configuration and manifest. */
async function packImage(recipe: BaseRecipe, folder: string): Promise<void> {
  const layer = join(folder, 'layer.tar');
  const attributes = ['--xattrs', '--xattrs-include=security.capability', '--format=pax', '--mtime=@0', '--sort=name'];
  await run('tar', [...attributes, '--numeric-owner', '-C', join(folder, 'root'), '-cf', layer, '.']);
  const hash = createHash('sha256');
  await pipeline(createReadStream(layer), hash);
  const config = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
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
