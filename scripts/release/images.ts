// Images of the stack: assembled from base images and files, for both architectures, without Docker.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Architecture } from '../build-agent.ts';
import { imageRecipes, type ImageConfig, type ImageName, type LayerRecipe } from './image-recipes.ts';
import { layerDate, makeLayer, type Layer } from './layers.ts';
import {
  digestOf,
  mediaTypes,
  openLayout,
  type Config,
  type Descriptor,
  type Layout,
  type Manifest,
} from './oci-layout.ts';
import { Refusal } from './options.ts';
import { byDigest, fullName, type PinnedImage } from './pinned-images.ts';
import { run } from './program.ts';

const root = join(import.meta.dirname, '../..');

/** An architecture's name in image references (Go's, which OCI uses). */
const ociArch = (arch: Architecture): string => (arch === 'x64' ? 'amd64' : arch);

/** A file that says where registries are (containers-registries.conf(5)); null for the machine's own. */
type RegistriesConf = string | null;

const skopeo = (conf: RegistriesConf, args: readonly string[]): Promise<string> =>
  run('skopeo', [...(conf === null ? [] : ['--registries-conf', conf]), ...args]);

type Base = {
  layout: Layout;
  manifest: Manifest;
  config: Config;
  /** Of the index that its tag named. */ digest: string;
};

export type ImageBuilder = AsyncDisposable & {
  /**
   * Assembles one image into an OCI layout in `folder`, named `version`.
   * @returns digest of its index, and those of the base images it stands on.
   */
  build(name: ImageName, version: string, folder: string, change?: ChangeConfig): Promise<BuiltImage>;
  /**
   * The digest that a tag names now; the same for the whole release.
   * @throws {@link Refusal} when its registry does not tell.
   */
  resolve(name: string): Promise<string>;
};

type BuiltImage = { digest: string; bases: BaseImage[] };

/** For tests: an image that behaves differently. */
export type ChangeConfig = (config: ImageConfig) => ImageConfig;

/** A base image as it was fetched. */
type BaseImage = PinnedImage & { arch: Architecture };

/**
 * Fetches base images (skopeo, with the machine's registry configuration) when they are needed first, and keeps layers of
 * several images in common.
 */
export async function createImageBuilder(
  archs: readonly Architecture[],
  conf: RegistriesConf = null,
): Promise<ImageBuilder> {
  const work = await mkdtemp(join(tmpdir(), 'station-images-'));
  const bases = new Map<string, Promise<Base>>();
  const digests = new Map<string, Promise<string>>();
  const resolve = (name: string): Promise<string> => once(digests, fullName(name), () => readDigest(name, conf));
  const layers = new Map<string, Promise<Layer>>();
  const baseOf = (name: string, arch: Architecture): Promise<Base> =>
    once(bases, `${name} ${arch}`, async () => {
      const folder = join(work, `base-${bases.size}`);
      return fetchBase(name, arch, { folder, conf, digest: await resolve(name) });
    });
  const layerOf = async (recipe: LayerRecipe, base: Base, owner: string): Promise<Layer> => {
    const needsBase = Object.values(recipe.files ?? {}).some((source) => typeof source !== 'string');
    const key = JSON.stringify([recipe, owner, needsBase ? base.manifest.config.digest : '']);
    return once(layers, key, () => makeLayer(recipe, { root, base, owner }));
  };
  return {
    resolve,
    build: async (name, version, folder, change = (config) => config) => {
      const recipe = imageRecipes[name];
      const layout = openLayout(folder);
      const images: Descriptor[] = [];
      const used: BaseImage[] = [];
      for (const arch of archs) {
        const base = await baseOf(recipe.base, arch);
        const config = change(recipe.config(version));
        const added = await Promise.all(recipe.layers.map((layer) => layerOf(layer, base, config.User)));
        images.push(await assemble(layout, { arch, base, config, added }));
        used.push({ name: recipe.base, arch, digest: base.digest });
      }
      const index = { schemaVersion: 2, mediaType: mediaTypes.index, manifests: images };
      const descriptor = await layout.put(mediaTypes.index, index);
      await layout.finish(version, descriptor);
      return { digest: descriptor.digest, bases: used };
    },
    [Symbol.asyncDispose]: () => rm(work, { recursive: true, force: true }),
  };
}

function once<T>(kept: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const made = kept.get(key) ?? make();
  kept.set(key, made);
  return made;
}

async function readDigest(name: string, conf: RegistriesConf): Promise<string> {
  try {
    return digestOf(Buffer.from(await skopeo(conf, ['inspect', '--raw', `docker://${fullName(name)}`])));
  } catch (error) {
    throw new Refusal(`the registry does not say which image ${name} is, so it cannot be pinned: ${String(error)}`, {
      cause: error,
    });
  }
}

async function fetchBase(
  name: string,
  arch: Architecture,
  { folder, conf, digest }: { folder: string; conf: RegistriesConf; digest: string },
): Promise<Base> {
  const platform = ['--override-os', 'linux', '--override-arch', ociArch(arch)];
  await skopeo(conf, [...platform, 'copy', '--quiet', `docker://${byDigest(name, digest)}`, `oci:${folder}:base`]);
  const layout = openLayout(folder);
  const manifest = await layout.manifest('base');
  return { layout, manifest, config: await layout.readJson<Config>(manifest.config.digest), digest };
}

/** Writes the image of one architecture: the base's layers, then the added ones. */
async function assemble(
  layout: Layout,
  parts: { arch: Architecture; base: Base; config: ImageConfig; added: readonly Layer[] },
): Promise<Descriptor> {
  const { arch, base, added } = parts;
  await layout.copyFrom(
    base.layout,
    base.manifest.layers.map((layer) => layer.digest),
  );
  const descriptors = await Promise.all(added.map((layer) => layout.put(mediaTypes.layer, layer.bytes)));
  const platform = { architecture: ociArch(arch), os: 'linux' };
  const below = base.config.config ?? {};
  const { Env: env, Labels: labels, ...config } = parts.config;
  const text = {
    created: layerDate,
    ...platform,
    config: { ...below, ...config, Env: mergeEnv(below.Env ?? [], env), Labels: labels },
    rootfs: { type: 'layers', diff_ids: [...base.config.rootfs.diff_ids, ...added.map((layer) => layer.diffId)] },
    history: [
      ...(base.config.history ?? base.config.rootfs.diff_ids.map(() => ({ created: layerDate }))),
      ...added.map(() => ({ created: layerDate, created_by: 'station release' })),
    ],
  };
  const manifest: Manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: await layout.put(mediaTypes.config, text),
    layers: [...base.manifest.layers, ...descriptors],
  };
  return { ...(await layout.put(mediaTypes.manifest, manifest)), platform };
}

/** Later values win; the order of the base stays. */
function mergeEnv(base: readonly string[], own: readonly string[]): string[] {
  const nameOf = (line: string): string => line.split('=', 1)[0] ?? '';
  const ours = new Set(own.map(nameOf));
  return [...base.filter((line) => !ours.has(nameOf(line))), ...own];
}

/** Pushes an OCI layout, all architectures, with unchanged digests. Credentials come from `docker login` or `skopeo login`. */
export async function pushImage(
  folder: string,
  version: string,
  reference: string,
  conf: RegistriesConf,
): Promise<void> {
  const copy = ['copy', '--quiet', '--all', '--preserve-digests'];
  await skopeo(conf, [...copy, `oci:${folder}:${version}`, `docker://${reference}`]);
}
