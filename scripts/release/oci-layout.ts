// A folder in the form of the OCI image layout (image specification, "Image Layout"): blobs by digest, and an index.
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type Descriptor = {
  mediaType: string;
  digest: string;
  size: number;
  platform?: { architecture: string; os: string; variant?: string };
  annotations?: Record<string, string>;
};
export type Manifest = { schemaVersion: 2; mediaType: string; config: Descriptor; layers: Descriptor[] };
type Index = { schemaVersion: 2; mediaType: string; manifests: Descriptor[] };
/** The parts of an image's configuration that are read here. */
export type Config = {
  config?: Record<string, unknown> & { Env?: string[] };
  rootfs: { type: 'layers'; diff_ids: string[] };
  history?: { created?: string; created_by?: string; empty_layer?: boolean }[];
};

export const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

/** Name of an image in a layout's index. */
const nameKey = 'org.opencontainers.image.ref.name';

export type Layout = ReturnType<typeof openLayout>;

export const digestOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Opens a layout; an empty folder becomes one with the first `put`. */
export function openLayout(folder: string) {
  const path = (digest: string): string => join(folder, 'blobs', digest.replace(':', '/'));
  const readJson = async <T>(digest: string): Promise<T> => JSON.parse(await readFile(path(digest), 'utf8')) as T;
  return {
    folder,
    path,
    readJson,
    /** Manifest of the image with a name in the layout's index. @throws when there is none. */
    manifest: async (name: string): Promise<Manifest> => {
      const index = JSON.parse(await readFile(join(folder, 'index.json'), 'utf8')) as Index;
      const found = index.manifests.find((one) => one.annotations?.[nameKey] === name);
      if (found === undefined) throw new Error(`${folder} has no image named ${name}`);
      return readJson<Manifest>(found.digest);
    },
    put: async (mediaType: string, content: Uint8Array | object): Promise<Descriptor> => {
      const bytes = content instanceof Uint8Array ? content : Buffer.from(JSON.stringify(content));
      const digest = digestOf(bytes);
      await mkdir(join(folder, 'blobs/sha256'), { recursive: true });
      await writeFile(path(digest), bytes);
      return { mediaType, digest, size: bytes.byteLength };
    },
    /** Copies blobs of another layout. */
    copyFrom: async (other: { path(digest: string): string }, digests: readonly string[]): Promise<void> => {
      await mkdir(join(folder, 'blobs/sha256'), { recursive: true });
      for (const digest of digests) await copyFile(other.path(digest), path(digest));
    },
    /** Writes the index of the layout with one image, which may be an index of several architectures. */
    finish: async (name: string, image: Descriptor): Promise<void> => {
      const index = { schemaVersion: 2, mediaType: mediaTypes.index };
      const manifests = [{ ...image, annotations: { [nameKey]: name } }];
      await writeFile(join(folder, 'index.json'), JSON.stringify({ ...index, manifests }));
      await writeFile(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
    },
  };
}
