import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { isWithinSubnet, readSubnet } from '@station/kit/subnet';
import { type ImageReference, parseImageReference } from '@station/protocol/image-reference';
import { ownValue } from '@station/protocol/own-value';
import type { LayersAnswer, PullAnswer, PullProgress } from '../../stack-ports.ts';
import { isPin, ListedContainer, pinLabel, projectLabel, removePin } from './containers.ts';
import {
  type EngineApi,
  type EngineInfo,
  expectBody,
  freeBytes,
  fullDiskBytes,
  messageOf,
  type ReadInfo,
} from './engine-api.ts';
import { imageFolder } from './image-folder.ts';
import { readLayers, type RegistryCredentials } from './registry.ts';

const EngineVersion = Type.Object({ Os: Type.String(), Arch: Type.String() });
const Image = Type.Object({
  Id: Type.String(),
  RepoTags: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
  RepoDigests: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
});

/**
 * Id of a local image; null when it is missing or unusable: an image that a power cut damaged cannot be inspected,
 * although the engine still lists it.
 * @throws StationError `unavailable` when the engine cannot answer.
 */
export async function imageId(api: EngineApi, reference: string): Promise<string | null> {
  const answer = await api.call('GET', `/images/${encodeURIComponent(reference)}/json`);
  // 400: an invalid reference, for example from a damaged file; such an image does not exist.
  if (answer.status === 404 || answer.status === 400) return null;
  if (answer.status >= 500) {
    // The list of images is no proof that it answers: one damaged image may make all of it fail.
    expectBody(await api.call('GET', '/version'), EngineVersion, 'GET /version');
    return null;
  }
  return expectBody(answer, Image, 'GET /images/{name}/json').Id;
}

const listImages = async (api: EngineApi) =>
  expectBody(await api.call('GET', '/images/json'), Type.Array(Image), 'GET /images/json');

/** Those of the same repository. An engine may write `web` for `docker.io/library/web`, and Podman the other way round. */
function namesOf({ registry, repository }: ImageReference, names: readonly string[] | null = []): ImageReference[] {
  const all = (names ?? []).map((name) => parseImageReference(name)).filter((one) => one !== null);
  return all.filter((one) => one.registry === registry && one.repository === repository);
}

/**
 * Id by the engine's list, which also has images that cannot be inspected. Removing an image by one name would only take that name from it:
 * with another name left, a damaged image keeps its layers and the next pull reuses them.
 */
async function listedId(api: EngineApi, reference: string): Promise<string> {
  const parsed = parseImageReference(reference);
  if (parsed === null) return reference;
  const { tag, digest } = parsed;
  const isNamed = ({ RepoTags, RepoDigests }: Static<typeof Image>): boolean =>
    digest === null
      ? namesOf(parsed, RepoTags).some((one) => one.tag === tag)
      : namesOf(parsed, RepoDigests).some((one) => one.digest === digest);
  return (await listImages(api)).find(isNamed)?.Id ?? reference;
}

/**
 * Removes an image that only this project uses.
 * @param project name of the Compose project: containers of others, stopped ones too, are left alone.
 * @param force removes all its names, and the containers of this project that stand on it.
 */
export async function removeImage(
  api: EngineApi,
  project: string,
  reference: string,
  force: boolean,
): Promise<'removed' | 'in_use' | 'absent'> {
  const target = force ? await listedId(api, reference) : reference;
  const filters = JSON.stringify({ ancestor: [target] });
  const users = await api.call('GET', '/containers/json', { query: { all: 'true', filters } });
  // Its users are unknown then; another project may use it.
  if (users.status !== 200 || !Value.Check(Type.Array(ListedContainer), users.body)) return 'in_use';
  const using = users.body;
  // A forced removal would also remove the image of another project's stopped container.
  if (using.some(({ Labels }) => Labels[pinLabel] !== project && Labels[projectLabel] !== project)) return 'in_use';
  // A stopped container keeps the layers, and the next pull would reuse them even if damaged. Without force
  // the engine leaves a running one alone.
  for (const container of force ? using : []) {
    if (isPin(container, project)) await removePin(api, container.Id);
    else await api.call('DELETE', `/containers/${container.Id}`);
  }
  const answer = await api.call('DELETE', `/images/${encodeURIComponent(target)}`, {
    query: { force: String(force) },
  });
  if (answer.status === 404) return 'absent';
  return answer.status === 200 ? 'removed' : 'in_use';
}

/** Layer sizes of an image, read from its registry in the same way as the engine reaches it. */
export async function askLayers(
  api: EngineApi,
  info: ReadInfo,
  credentials: RegistryCredentials | null,
  reference: string,
  signal: AbortSignal,
): Promise<LayersAnswer> {
  return readLayers(
    reference,
    {
      credentials,
      isInsecure: async (registry) => isInsecure(registry, await info()),
      platform: async () => {
        const { Os, Arch } = expectBody(await api.call('GET', '/version'), EngineVersion, 'GET /version');
        return { os: Os, architecture: Arch };
      },
    },
    signal,
  );
}

/** Docker takes loopback registries as insecure on its own; others are named in its configuration, by their names or as subnets. */
export function isInsecure(registry: string, { RegistryConfig }: Pick<EngineInfo, 'RegistryConfig'>): boolean {
  const { IndexConfigs, InsecureRegistryCIDRs } = RegistryConfig ?? {};
  const host = registry.replace(/:\d+$/, '').replaceAll(/^\[|\]$/g, '');
  if (/^(127\.\d+\.\d+\.\d+|localhost|::1)$/.test(host)) return true;
  if (ownValue(IndexConfigs, registry)?.Secure === false) return true;
  return (InsecureRegistryCIDRs ?? [])
    .map(readSubnet)
    .some((subnet) => subnet !== null && isWithinSubnet(subnet, host));
}

type PullOptions = {
  credentials: RegistryCredentials | null;
  sizes: Record<string, number>;
  onProgress: (progress: PullProgress) => void;
  signal: AbortSignal;
};

/** Fetches an image through the engine. */
export async function pull(api: EngineApi, info: ReadInfo, text: string, options: PullOptions): Promise<PullAnswer> {
  const reference = parseImageReference(text);
  if (!reference) return { kind: 'failed', code: 'image_missing', reason: 'not an image reference', transient: false };
  const meter = createPullMeter(options.sizes);
  let fault: string | null = null;
  const onLine = (line: unknown): void => {
    const entry = line as PullLine;
    if (entry.error !== undefined) fault = entry.error;
    meter.add(entry);
    options.onProgress(meter.read());
  };
  const answer = await api.lines('POST', '/images/create', onLine, {
    query: { fromImage: reference.name, tag: reference.digest ?? reference.tag ?? 'latest' },
    headers: registryAuth(options.credentials, reference.registry),
    signal: options.signal,
  });
  if (answer.status === 200 && fault === null) return pulledImage(api, reference);
  const detail = fault ?? messageOf(answer.body);
  if (answer.status === 404) {
    return {
      kind: 'failed',
      code: 'image_missing',
      reason: `${reference.registry} has no ${reference.repository}`,
      detail,
      transient: false,
    };
  }
  const free = await freeBytes(await imageFolder(await info()));
  if ((free !== null && free < fullDiskBytes) || saysNoSpace(detail)) {
    return { kind: 'failed', code: 'disk_space_low', reason: 'the disk is full', detail, transient: false };
  }
  // The registry delivered the layer, so it is the engine that cannot store it.
  if (meter.isNextDelivered() || saysBrokenDisk(detail) || saysNotUnpacked(detail)) {
    const reason = `${reference.repository} could not be stored`;
    return { kind: 'failed', code: 'engine_storage_failed', reason, detail, transient: true };
  }
  // The engine says in words what the registry answered; the registry itself says it by its status.
  const told = await askLayers(api, info, options.credentials, text, options.signal);
  if (told.kind === 'failed') return { ...told, detail };
  const reason = `${reference.repository} could not be fetched`;
  return { kind: 'failed', code: 'registry_unavailable', reason, detail, transient: true };
}

/** The engine has no code for it; this is the text of the system for ENOSPC and EDQUOT. What was half written is removed by now. */
const saysNoSpace = (detail: string): boolean => /no space left on device|disk quota exceeded/i.test(detail);

/** The same for EROFS, EIO and EUCLEAN: the disk cannot be written, or is damaged. */
const saysBrokenDisk = (detail: string): boolean =>
  /read-only file system|input\/output error|structure needs cleaning/i.test(detail);

/**
 * What containerd says of a layer that it has, or believes to have, and cannot unpack: a pull that a power cut ended may leave its record of a file
 * that is gone. Its progress does not tell, because nothing is fetched.
 */
const saysNotUnpacked = (detail: string): boolean =>
  /failed to (extract layer|prepare extraction snapshot)|blob not found/i.test(detail);

async function pulledImage(api: EngineApi, reference: ImageReference): Promise<PullAnswer> {
  const answer = await api.call('GET', `/images/${encodeURIComponent(reference.text)}/json`);
  if (answer.status >= 500) return { kind: 'broken' };
  if (!Value.Check(Image, answer.body)) {
    const detail = messageOf(answer.body);
    return { kind: 'failed', code: 'engine_failed', reason: 'a fetched image cannot be read', detail, transient: true };
  }
  const [named] = namesOf(reference, answer.body.RepoDigests);
  return { kind: 'ok', imageId: answer.body.Id, digest: named?.text ?? null };
}

/** The header with credentials for the Engine API; they are in no argument and no file. */
function registryAuth(credentials: RegistryCredentials | null, registry: string): Record<string, string> {
  if (credentials?.registry !== registry) return {};
  const { username, password } = credentials;
  const json = JSON.stringify({ username, password, serveraddress: registry });
  // Older engines insist on the padding that Node's base64url leaves out.
  const encoded = Buffer.from(json).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
  return { 'x-registry-auth': encoded };
}

/** One line of the engine's pull stream (Engine API, POST /images/create). */
export type PullLine = {
  status?: string;
  id?: string;
  progressDetail?: { current?: number; total?: number };
  error?: string;
};

/**
 * Adds up the engine's pull stream, which names layers by the first twelve digits of their digest. Bytes count when they
 * are fetched; a layer that was already present counts in full.
 * @param sizes layer digest → compressed bytes, as the registry lists them; empty when it does not.
 */
export function createPullMeter(sizes: Readonly<Record<string, number>>) {
  const known = new Map(
    Object.entries(sizes).map(([digest, size]) => [digest.slice('sha256:'.length, 'sha256:'.length + 12), size]),
  );
  const layers = new Map<string, { done: number; total: number | null; state: LayerState }>();
  for (const [id, total] of known) layers.set(id, { done: 0, total, state: 'awaited' });
  return {
    add: (line: PullLine): void => {
      if (line.id === undefined || !/^[0-9a-f]{12}$/.test(line.id)) return;
      const layer = layers.get(line.id) ?? { done: 0, total: null, state: 'awaited' };
      layer.state = ownValue(states, line.status ?? '') ?? layer.state;
      const detail = line.progressDetail ?? {};
      if (line.status === 'Downloading' && detail.current !== undefined) {
        layer.total ??= detail.total ?? null;
        layer.done = Math.max(
          layer.done,
          layer.total === null ? detail.current : Math.min(detail.current, layer.total),
        );
      } else if (line.status !== undefined && finished.has(line.status)) {
        layer.done = layer.total ?? layer.done;
        layer.total ??= layer.done;
      }
      layers.set(line.id, layer);
    },
    /**
     * Whether the next layer to be stored was delivered completely. Layers are stored in the order of the image, so this one is at fault when a
     * pull fails. True also when all were stored.
     */
    isNextDelivered: (): boolean => {
      const next = [...layers.values()].find(({ state }) => state !== 'stored');
      return layers.size > 0 && next?.state !== 'awaited';
    },
    read: (): PullProgress => {
      const all = [...layers.values()];
      const doneBytes = all.reduce((sum, layer) => sum + layer.done, 0);
      // Without the registry's list the sizes of layers not yet started are unknown, and so is the total.
      const isTotalKnown = known.size > 0 || (all.length > 0 && all.every((layer) => layer.total !== null));
      return {
        doneBytes,
        totalBytes: isTotalKnown ? all.reduce((sum, layer) => sum + (layer.total ?? layer.done), 0) : null,
      };
    },
  };
}

type LayerState = 'awaited' | 'delivered' | 'stored';

/** The engine's word for the state of a layer. While it verifies the checksum, the layer may still turn out to be incomplete. */
const states: Readonly<Record<string, LayerState>> = {
  Downloading: 'awaited',
  'Download complete': 'delivered',
  Extracting: 'delivered',
  'Pull complete': 'stored',
  'Already exists': 'stored',
};

const finished = new Set(['Verifying Checksum', 'Download complete', 'Extracting', 'Pull complete', 'Already exists']);
