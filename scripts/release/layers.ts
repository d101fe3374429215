// Layers of images: reproducible tar files (image specification, "Image Layer Filesystem Changeset").
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import type { LayerRecipe } from './image-recipes.ts';
import { digestOf, type Layout, type Manifest } from './oci-layout.ts';
import { run } from './program.ts';

export type Layer = {
  /** Digest of the tar file; the layer's name inside an image. */
  diffId: string;
  /** The tar file, compressed. */
  bytes: Uint8Array;
};

/** All files have this date, so that a layer whose content did not change is the same in all releases. */
export const layerDate = '2026-01-01T00:00:00Z';

/** Makes a layer. `base` is where files of the base image come from; `owner` gets the layer's empty folders. */
export async function makeLayer(
  recipe: LayerRecipe,
  from: { root: string; base: { layout: Layout; manifest: Manifest }; owner: string },
): Promise<Layer> {
  const folder = await mkdtemp(join(tmpdir(), 'station-layer-'));
  try {
    const files = join(folder, 'files');
    await mkdir(files);
    for (const [target, source] of Object.entries(recipe.files ?? {})) {
      const path = join(files, target);
      await mkdir(dirname(path), { recursive: true });
      if (typeof source === 'string') await cp(join(from.root, source), path, { recursive: true });
      else await extract(from.base, source.fromBase, path);
    }
    const tar = join(folder, 'layer.tar');
    await packTar(files, tar, { owner: '0:0', date: layerDate });
    const folders = join(folder, 'folders');
    for (const path of recipe.folders ?? []) await mkdir(join(folders, path), { recursive: true });
    if (recipe.folders) await packTar(folders, tar, { owner: from.owner, date: layerDate, append: true });
    const content = await readFile(tar);
    return { diffId: digestOf(content), bytes: await promisify(gzip)(content, { level: 9 }) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Packs what is in a folder: sorted, with one owner and one date, and the access rights 755 or 644. */
export async function packTar(
  folder: string,
  file: string,
  options: { owner: string; date: string; append?: boolean },
): Promise<void> {
  const [user = '', group = ''] = options.owner.split(':');
  const stable = ['--sort=name', `--owner=${user}`, `--group=${group}`, '--numeric-owner', `--mtime=${options.date}`];
  const mode = ['--format=ustar', '--mode=u=rwX,go=rX', '--no-recursion'];
  const names = (await run('find', ['.', '-mindepth', '1', '-printf', '%P\\n'], { cwd: folder })).split('\n').sort();
  const input = names.filter(Boolean).join('\n');
  await run('tar', [...stable, ...mode, options.append ? '-rf' : '-cf', file, '-C', folder, '-T', '-'], { input });
}

/** Compresses a file with gzip, without a date. */
export async function compress(file: string, target: string): Promise<void> {
  await pipeline(createReadStream(file), createGzip({ level: 9 }), createWriteStream(target));
}

/** Takes one file out of a base image; the uppermost layer that has it wins. Only its content, without extended attributes. */
async function extract(base: { layout: Layout; manifest: Manifest }, path: string, target: string): Promise<void> {
  const name = path.replace(/^\//, '');
  for (const layer of base.manifest.layers.toReversed()) {
    const blob = base.layout.path(layer.digest);
    const listed = (await run('tar', ['-tzf', blob])).split('\n');
    const found = listed.find((one) => one.replace(/^\.\//, '') === name);
    if (found === undefined) continue;
    const folder = dirname(target);
    await run('tar', ['-xzf', blob, '-C', folder, '--no-same-owner', `--transform=s,.*/,,`, found]);
    return;
  }
  throw new Error(`the base image has no ${path}`);
}

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
