import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readTar } from '@station/agent/stack/adapters/docker/tar-reader';
import { exists } from '@station/kit/durable-files';
import { needPackages } from '../../rig/debian.ts';
import { createDockerEngine, type DockerEngine, type ImageStore } from '../../rig/docker-engine.ts';
import { type ImageConfig, type ImageFile, type Layer, packLayer, pushImage } from '../../rig/image-push.ts';
import { run } from '../../rig/program.ts';
import { createRegistry, type Registry } from '../../rig/registry.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { createDisks } from '../../station-machine/disks.ts';
import { adapterOn } from './engine-of.ts';

/** Path → SHA-256 of what was pushed. */
type Truth = ReadonlyMap<string, string>;

export type LabImage = { reference: string; layers: readonly Layer[]; truth: Truth };

/** Layers that were packed: the same list of files is the same layer. */
export type LayerStore = Map<readonly ImageFile[], Layer>;

/** Images of a stack whose engine has its data on a disk of its own: its files can be damaged, and its power can be cut. */
export type ImageLab = AsyncDisposable & {
  engine: DockerEngine;
  registry: Registry;
  images: Readonly<Record<string, LabImage>>;
  adapter: ReturnType<typeof adapterOn>;
  /** Copies the disk as it is at this instant, in use: what a power cut leaves. */
  copyDisk(): Promise<string>;
  /** Stops the engine and copies its disk with all that was written. */
  stopAndCopyDisk(): Promise<string>;
  /** Starts the engine on a copy of that disk, after a change of its files. */
  boot(disk: string, change?: (dataRoot: string) => Promise<void>): Promise<void>;
  /** What differs from what was pushed, as a container of the image sees it; null: nothing. Asks the engine for files, never the agent. */
  damageOf(name: string): Promise<string | null>;
};

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export const randomFiles = (folder: string, count: number, bytes: number): ImageFile[] =>
  Array.from({ length: count }, (_, index) => ({ path: `${folder}/${index}`, content: randomBytes(bytes) }));

/** @param contents image → its layers, the base first; a layer that two name is one. */
export async function createImageLab(options: {
  store: ImageStore;
  contents: Readonly<Record<string, readonly (readonly ImageFile[])[]>>;
  megabytes?: number;
}): Promise<ImageLab> {
  const workspace = await createWorkspace();
  try {
    return await openLab(workspace, options);
  } catch (error) {
    await workspace[Symbol.asyncDispose]();
    throw error;
  }
}

async function openLab(
  workspace: Workspace,
  { store, contents, megabytes = 1024 }: Parameters<typeof createImageLab>[0],
): Promise<ImageLab> {
  await needPackages(['btrfs-progs', 'e2fsprogs']);
  const registry = await createRegistry(workspace, {});
  const images = await pushImages(registry, contents);
  const disks = await createDisks(workspace);
  const file = join(workspace.folder, 'fresh.ext4');
  await run('truncate', ['--size', `${megabytes}M`, file]);
  await run('mkfs.ext4', ['-q', '-m', '0', file]);
  let disk = await disks.import(file);
  const dataRoot = await workspace.subfolder('engine/data');
  await run('mount', ['-o', 'loop', disk, dataRoot]);
  const engine = await createDockerEngine(workspace, { store });
  let bootedAtMs = Date.now();
  const project = await workspace.subfolder('project');
  const services = Object.entries(images).map(([name, { reference }]) => `  ${name}:\n    image: ${reference}\n`);
  await writeFile(join(project, 'compose.yml'), `name: station\nservices:\n${services.join('')}`);
  const adapter = adapterOn(engine, {
    folder: project,
    composeFile: 'compose.yml',
    workFolder: workspace.folder,
    bootedAtMs: () => bootedAtMs,
  });
  return {
    engine,
    registry,
    images,
    adapter,
    copyDisk: () => disks.clone(disk),
    stopAndCopyDisk: async () => {
      await engine.stop();
      await run('sync', ['-f', dataRoot]);
      return disks.clone(disk);
    },
    boot: async (from, change) => {
      if (engine.running()) await engine.stop();
      await run('umount', ['--detach-loop', dataRoot]);
      await disks.remove(disk);
      disk = await disks.clone(from);
      await run('mount', ['-o', 'loop', disk, dataRoot]);
      await change?.(dataRoot);
      bootedAtMs = Date.now();
      await engine.start();
    },
    damageOf: async (name) => {
      const image = images[name];
      if (image === undefined) throw new Error('there is no such image');
      return findDamage(engine, image.reference, image.truth);
    },
    [Symbol.asyncDispose]: async () => {
      adapter[Symbol.dispose]();
      await workspace[Symbol.asyncDispose]();
    },
  };
}

async function pushImages(
  registry: Registry,
  contents: Parameters<typeof createImageLab>[0]['contents'],
): Promise<Record<string, LabImage>> {
  const packed: LayerStore = new Map();
  const images: Record<string, LabImage> = {};
  for (const [name, parts] of Object.entries(contents)) {
    images[name] = await pushFiles(registry, packed, { name, tag: '1', parts, config: { Cmd: ['/none'] } });
  }
  return images;
}

/** Pushes an image of the stack. @param image.parts its layers, the base first. */
export async function pushFiles(
  registry: Registry,
  packed: LayerStore,
  image: { name: string; tag: string; parts: readonly (readonly ImageFile[])[]; config: ImageConfig },
): Promise<LabImage> {
  const { name, tag, parts, config } = image;
  const layers: Layer[] = [];
  const truth = new Map<string, string>();
  for (const files of parts) {
    const layer = packed.get(files) ?? (await packLayer(files));
    packed.set(files, layer);
    layers.push(layer);
    for (const each of files) if ('content' in each) truth.set(each.path, hashOf(Buffer.from(each.content)));
  }
  await pushImage(registry, { repository: `station/${name}`, tag }, { layers, config });
  return { reference: `${registry.address}/station/${name}:${tag}`, layers, truth };
}

/**
 * Exports a container of the image, file by file. The graph driver of Docker 26 keeps the layers of an exported container, so a layer that was
 * damaged when this looked at it stays damaged.
 * @param image its id or reference.
 */
export async function findDamage(engine: DockerEngine, image: string, truth: Truth): Promise<string | null> {
  const made = await engine.tryDocker(['create', '--pull', 'never', '--network', 'none', image, 'x']);
  if (made.exitCode !== 0) return `no container: ${made.stderr.trim().slice(-200)}`;
  const id = made.stdout.trim();
  const file = join(engine.dataRoot, '..', 'export.tar');
  const exported = await engine.tryDocker(['export', '--output', file, id]);
  await engine.docker('rm', id);
  if (exported.exitCode !== 0) return `no export: ${exported.stderr.trim().slice(-200)}`;
  try {
    return await compareFiles(file, truth);
  } finally {
    await rm(file, { force: true });
  }
}

async function compareFiles(file: string, truth: Truth): Promise<string | null> {
  const found = new Map<string, string>();
  for await (const { path, content } of readTar(createReadStream(file))) {
    const hash = createHash('sha256');
    for await (const piece of content) hash.update(piece);
    found.set(path, hash.digest('hex'));
  }
  const wrong = [...truth].filter(([path, digest]) => found.get(path) !== digest).map(([path]) => path);
  return wrong.length === 0 ? null : `${wrong.length} of ${truth.size} files: ${wrong.slice(0, 3).join(', ')}`;
}

/** Folders with the unpacked files of each layer that has this path. */
export async function layersWith(dataRoot: string, store: ImageStore, path: string): Promise<string[]> {
  const [folder, files] =
    store === 'overlay2'
      ? [join(dataRoot, 'overlay2'), 'diff']
      : [join(dataRoot, 'containerd/daemon/io.containerd.snapshotter.v1.overlayfs/snapshots'), 'fs'];
  const found: string[] = [];
  for (const name of await readdir(folder)) {
    if (await exists(join(folder, name, files, path))) found.push(join(folder, name, files));
  }
  return found;
}

/** The file in which containerd keeps a compressed layer. */
export const blobOf = (dataRoot: string, digest: string): string =>
  join(dataRoot, 'containerd/daemon/io.containerd.content.v1.content/blobs/sha256', digest.slice('sha256:'.length));
