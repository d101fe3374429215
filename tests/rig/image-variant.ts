import type { ImageFile } from './image-push.ts';
import { packLayer, pushLayered } from './image-push.ts';
import type { Registry } from './registry.ts';

/** What is different in a variant of an image: files on top of it, and entries of its configuration (`Cmd`, `Env`, …). */
export type Variant = { files?: readonly ImageFile[]; config?: Readonly<Record<string, unknown>> };

type Manifest = { config: { digest: string }; layers: { mediaType: string; size: number; digest: string }[] };
type Index = { manifests: { digest: string }[] };
type Configuration = { config: Record<string, unknown>; rootfs: { diff_ids: string[] }; history: object[] };

/**
 * Pushes an image that is another one of the same repository with some changes. The layers below are shared, so that a station pulls
 * only what is different.
 * @returns its digest.
 */
export async function pushVariant(
  registry: Registry,
  target: { repository: string; from: string; tag: string },
  { files = [], config = {} }: Variant,
): Promise<string> {
  const read = async <T>(path: string, accept = '*/*'): Promise<T> => {
    const answer = await registry.request(`/v2/${target.repository}/${path}`, { headers: { accept } });
    if (!answer.ok) throw new Error(`${path} of ${target.repository}: ${answer.status}`);
    return (await answer.json()) as T;
  };
  const named = await read<Manifest | Index>(`manifests/${target.from}`, manifestTypes);
  // The rig's images are of this machine's architecture alone.
  const manifest =
    'manifests' in named ? await read<Manifest>(`manifests/${named.manifests[0]?.digest}`, manifestTypes) : named;
  const before = await read<Configuration>(`blobs/${manifest.config.digest}`);
  const layer = files.length === 0 ? null : await packLayer(files);
  return pushLayered(registry, target, {
    below: manifest.layers,
    configuration: {
      ...before,
      config: { ...before.config, ...config },
      rootfs: { ...before.rootfs, diff_ids: [...before.rootfs.diff_ids, ...(layer ? [layer.diffId] : [])] },
      history: [...before.history, ...(layer ? [{ created_by: 'rig' }] : [])],
    },
    layer,
  });
}

const manifestTypes = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
].join(', ');
