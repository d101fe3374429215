import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { run } from './program.ts';
import type { Architecture } from '../../scripts/build-agent.ts';
import { debianArch, hostArch } from './base-roots.ts';
import type { Registry } from './registry.ts';

/** A file of an image: content, or where a symbolic link points. Files get mode 755, root's. */
export type ImageFile = { path: string; content: Uint8Array | string } | { path: string; linkTo: string };

export type Layer = { digest: string; diffId: string; bytes: Uint8Array };

/** The part of an image's configuration that the rig sets (OCI image specification, config). */
export type ImageConfig = {
  Cmd: string[];
  Env?: string[];
  WorkingDir?: string;
  Labels?: Record<string, string>;
  ExposedPorts?: Record<string, object>;
};

const digestOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Packs files into one layer; the same files give the same digest. */
export async function packLayer(files: readonly ImageFile[]): Promise<Layer> {
  const folder = await mkdtemp(join(tmpdir(), 'station-layer-'));
  try {
    const root = join(folder, 'root');
    for (const file of files) {
      const path = join(root, file.path);
      await mkdir(dirname(path), { recursive: true });
      if ('linkTo' in file) {
        await symlink(file.linkTo, path);
      } else {
        await writeFile(path, file.content);
        await chmod(path, 0o755);
      }
    }
    return await packFolders(root, ['.']);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Packs folders of this machine into one layer, all of root's. @param names paths below `root`. */
export async function packFolders(root: string, names: readonly string[]): Promise<Layer & { unpackedBytes: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'station-layer-'));
  try {
    const stable = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=@0', '--format=ustar'];
    await run('tar', [...stable, '-C', root, '-cf', join(folder, 'layer.tar'), ...names]);
    const tar = await readFile(join(folder, 'layer.tar'));
    const bytes = gzipSync(tar, { level: 1 });
    return { digest: digestOf(bytes), diffId: digestOf(tar), bytes, unpackedBytes: tar.length };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Pushes an image straight to a registry (OCI distribution specification, "Pushing"), without an engine, so that no
 * engine has any part of it before it pulls.
 * @returns digest of the manifest, to pull by.
 */
export async function pushImage(
  registry: Registry,
  target: { repository: string; tag: string },
  image: { layers: readonly Layer[]; config: ImageConfig; arch?: Architecture },
): Promise<string> {
  const config = Buffer.from(
    JSON.stringify({
      architecture: debianArch(image.arch ?? hostArch),
      os: 'linux',
      created: '2026-01-01T00:00:00Z',
      config: image.config,
      rootfs: { type: 'layers', diff_ids: image.layers.map((layer) => layer.diffId) },
      // Buildah builds nothing on an image without it.
      history: image.layers.map(() => ({ created: '2026-01-01T00:00:00Z', created_by: 'rig' })),
    }),
  );
  for (const bytes of [config, ...image.layers.map((layer) => layer.bytes)]) {
    await pushBlob(registry, target.repository, bytes);
  }
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: manifestType,
      config: {
        mediaType: 'application/vnd.docker.container.image.v1+json',
        size: config.length,
        digest: digestOf(config),
      },
      layers: image.layers.map((layer) => ({
        mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
        size: layer.bytes.length,
        digest: layer.digest,
      })),
    }),
  );
  return putManifest(registry, target, manifestType, manifest);
}

/** A layer on top of layers that the repository has already, with the whole configuration of the image. @returns its digest. */
export async function pushLayered(
  registry: Registry,
  target: { repository: string; tag: string },
  image: { below: readonly object[]; configuration: object; layer: Layer | null },
): Promise<string> {
  const config = Buffer.from(JSON.stringify(image.configuration));
  const { layer } = image;
  for (const bytes of [config, ...(layer ? [layer.bytes] : [])]) await pushBlob(registry, target.repository, bytes);
  const manifest = {
    schemaVersion: 2,
    mediaType: ociManifestType,
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', size: config.length, digest: digestOf(config) },
    layers: [
      ...image.below,
      ...(layer
        ? [{ mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', size: layer.bytes.length, digest: layer.digest }]
        : []),
    ],
  };
  return putManifest(registry, target, ociManifestType, Buffer.from(JSON.stringify(manifest)));
}

const ociManifestType = 'application/vnd.oci.image.manifest.v1+json';
const manifestType = 'application/vnd.docker.distribution.manifest.v2+json';
const indexType = 'application/vnd.docker.distribution.manifest.list.v2+json';

/** An image of one architecture, as a registry has it. */
export type PushedImage = { arch: Architecture; digest: string };

/** Pushes an index of images that are in the repository already. @returns its digest. */
export async function pushIndex(
  registry: Registry,
  target: { repository: string; tag: string },
  images: readonly PushedImage[],
): Promise<string> {
  const manifests = await Promise.all(
    images.map(async ({ arch, digest }) => {
      const path = `/v2/${target.repository}/manifests/${digest}`;
      const answer = await registry.request(path, { headers: { accept: manifestType } });
      const size = (await answer.arrayBuffer()).byteLength;
      return { mediaType: manifestType, size, digest, platform: { architecture: debianArch(arch), os: 'linux' } };
    }),
  );
  const index = { schemaVersion: 2, mediaType: indexType, manifests };
  return putManifest(registry, target, indexType, Buffer.from(JSON.stringify(index)));
}

async function putManifest(
  registry: Registry,
  target: { repository: string; tag: string },
  type: string,
  bytes: Buffer,
): Promise<string> {
  const path = `/v2/${target.repository}/manifests/${target.tag}`;
  const body = new Uint8Array(bytes);
  await expectOk(await registry.request(path, { method: 'PUT', body, headers: { 'content-type': type } }));
  return digestOf(bytes);
}

async function pushBlob(registry: Registry, repository: string, bytes: Uint8Array): Promise<void> {
  const digest = digestOf(bytes);
  if ((await registry.request(`/v2/${repository}/blobs/${digest}`, { method: 'HEAD' })).ok) return;
  const begun = await registry.request(`/v2/${repository}/blobs/uploads/`, { method: 'POST' });
  await expectOk(begun);
  const location = new URL(begun.headers.get('location') ?? '', `http://${registry.address}`);
  location.searchParams.set('digest', digest);
  const headers = { 'content-type': 'application/octet-stream' };
  await expectOk(await registry.request(location.href, { method: 'PUT', body: Buffer.from(bytes), headers }));
}

async function expectOk(response: Response): Promise<void> {
  const text = await response.text();
  if (!response.ok) throw new Error(`the registry answered ${response.status} to a push: ${text.slice(0, 300)}`);
}
