import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { needPackages } from '../../rig/debian.ts';
import { run } from '../../rig/program.ts';
import type { Registry } from '../../rig/registry.ts';
import { manifestPath, type ReleaseServer } from '../../rig/release-server.ts';
import type { Workspace } from '../../rig/workspace.ts';

/** Signs manifests with keys that it makes, and publishes them. */
export type Signer = {
  /** @returns the public key, as UPDATE_PUBLIC_KEY takes it. */
  makeKey(name: string): Promise<string>;
  /** @param key by default `key`; null: the signature stays the one that is published. */
  publish(manifest: object, key?: string | null): Promise<void>;
  /** Publishes what was published before, with its signature. */
  replay(manifest: object): void;
};

export async function createSigner(workspace: Workspace, releases: ReleaseServer): Promise<Signer> {
  await needPackages(['minisign']);
  const folder = await workspace.subfolder('keys');
  const file = (name: string): string => join(folder, name);
  const published = new Map<object, { bytes: Uint8Array; signature: Uint8Array }>();
  const put = (bytes: Uint8Array, signature: Uint8Array | null): void => {
    if (signature !== null) releases.put(`${manifestPath}.minisig`, { bytes: signature });
    releases.setManifest(bytes);
  };
  return {
    makeKey: async (name) => {
      await run('minisign', ['-G', '-W', '-p', file(`${name}.pub`), '-s', file(`${name}.sec`)]);
      return (await run('tail', ['-n', '1', file(`${name}.pub`)])).trim();
    },
    publish: async (manifest, key = 'key') => {
      const bytes = new TextEncoder().encode(JSON.stringify(manifest));
      if (key === null) return put(bytes, null);
      await writeFile(file('manifest.json'), bytes);
      await run('minisign', ['-S', '-W', '-s', file(`${key}.sec`), '-m', file('manifest.json')]);
      const signature = await readFile(file('manifest.json.minisig'));
      published.set(manifest, { bytes, signature });
      put(bytes, signature);
    },
    replay: (manifest) => {
      const old = published.get(manifest);
      if (old === undefined) throw new Error('this manifest was never published');
      put(old.bytes, old.signature);
    },
  };
}

const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

/** The address of `host/name:tag` in the API of its registry. */
const manifestOf = (image: string): string => {
  const [, name, tag] = /^[^/]+\/(.+):([^:/]+)$/.exec(image) ?? [];
  return `/v2/${name}/manifests/${tag}`;
};

/** @returns `name@sha256:…` of what a tag names now. */
export async function digestOf(registry: Registry, image: string): Promise<string> {
  const answer = await registry.request(manifestOf(image), { method: 'HEAD', headers: { accept: manifestTypes } });
  return image.replace(/:[^:/]+$/, `@${answer.headers.get('docker-content-digest')}`);
}

/** Makes a tag name what another one of the same repository names. */
export async function moveTag(registry: Registry, image: string, to: string): Promise<void> {
  const other = await registry.request(manifestOf(to), { headers: { accept: manifestTypes } });
  const headers = { 'content-type': other.headers.get('content-type') ?? '' };
  const put = await registry.request(manifestOf(image), { method: 'PUT', headers, body: await other.arrayBuffer() });
  if (!put.ok) throw new Error(`${image}: ${put.status} ${await put.text()}`);
}
