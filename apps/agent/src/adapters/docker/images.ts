import { parseImageReference } from '@station/protocol/image-reference';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { LayersAnswer, PullAnswer, PullProgress } from '../../stack/ports.ts';
import { isPin, ListedContainer, pinLabel, projectLabel, removePin } from './containers.ts';
import { expectBody, messageOf, type EngineApi } from './engine-api.ts';
import { freeBytes, fullDiskBytes, type ReadInfo } from './engine-info.ts';
import { createPullMeter, type PullLine } from './pull-meter.ts';
import { readLayers, type RegistryCredentials } from './registry.ts';

const EngineVersion = Type.Object({ Os: Type.String(), Arch: Type.String() });
export const Image = Type.Object({
  Id: Type.String(),
  RepoDigests: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
});

/**
 * Id of a local image; null when it is not on this machine, or cannot be used: an image that a power cut broke cannot be inspected,
 * while the engine still lists all there are.
 * @throws StationError `unavailable` when the engine cannot say.
 */
export async function imageId(api: EngineApi, reference: string): Promise<string | null> {
  const answer = await api.call('GET', `/images/${encodeURIComponent(reference)}/json`);
  // 400: what it does not understand as a reference, as a damaged file may name, it does not have.
  if (answer.status === 404 || answer.status === 400) return null;
  if (answer.status >= 500) {
    expectBody(await api.call('GET', '/images/json'), Type.Array(Image), 'GET /images/json');
    return null;
  }
  return expectBody(answer, Image, 'GET /images/{name}/json').Id;
}

/**
 * Removes an image that only this project uses.
 * @param project name of the Compose project: containers of others, stopped ones too, are left alone.
 */
export async function removeImage(
  api: EngineApi,
  project: string,
  reference: string,
  force: boolean,
): Promise<'removed' | 'in_use' | 'absent'> {
  const filters = JSON.stringify({ ancestor: [reference] });
  const users = await api.call('GET', '/containers/json', { query: { all: 'true', filters } });
  // Who uses it is not known then: it may be somebody else.
  if (users.status !== 200 || !Value.Check(Type.Array(ListedContainer), users.body)) return 'in_use';
  const using = users.body;
  // Forced removal would take an image from under a stopped container of somebody else.
  if (using.some(({ Labels }) => Labels[pinLabel] !== project && Labels[projectLabel] !== project)) return 'in_use';
  // A stopped container keeps the layers, and the next pull would take them up again however damaged they are. Without force
  // the engine leaves a running one alone.
  for (const container of force ? using : []) {
    if (isPin(container, project)) await removePin(api, container.Id);
    else await api.call('DELETE', `/containers/${container.Id}`);
  }
  const answer = await api.call('DELETE', `/images/${encodeURIComponent(reference)}`, {
    query: { force: String(force) },
  });
  if (answer.status === 404) return 'absent';
  return answer.status === 200 ? 'removed' : 'in_use';
}

/** Layer sizes of an image, asked of its registry as the engine would reach it. */
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
      isInsecure: async (registry) => {
        const host = registry.replace(/:\d+$/, '');
        // Docker takes loopback registries as insecure by itself; others are named in its configuration.
        if (/^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(host)) return true;
        return (await info()).RegistryConfig?.IndexConfigs?.[registry]?.Secure === false;
      },
      platform: async () => {
        const { Os, Arch } = expectBody(await api.call('GET', '/version'), EngineVersion, 'GET /version');
        return { os: Os, architecture: Arch };
      },
    },
    signal,
  );
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
  if (answer.status === 200 && fault === null) return pulledImage(api, text, reference.name);
  const detail = fault ?? messageOf(answer.body);
  if (answer.status === 404) {
    return {
      kind: 'failed',
      code: 'image_missing',
      reason: `${reference.repository} is not at ${reference.registry}`,
      detail,
      transient: false,
    };
  }
  const free = await freeBytes((await info()).DockerRootDir);
  if (free !== null && free < fullDiskBytes) {
    return { kind: 'failed', code: 'disk_space_low', reason: 'the disk is full', detail, transient: false };
  }
  return {
    kind: 'failed',
    code: 'registry_unavailable',
    reason: `${reference.repository} could not be fetched`,
    detail,
    transient: true,
  };
}

async function pulledImage(api: EngineApi, text: string, name: string): Promise<PullAnswer> {
  const answer = await api.call('GET', `/images/${encodeURIComponent(text)}/json`);
  if (answer.status >= 500) return { kind: 'broken' };
  if (!Value.Check(Image, answer.body)) {
    const detail = messageOf(answer.body);
    return { kind: 'failed', code: 'engine_failed', reason: 'a fetched image cannot be read', detail, transient: true };
  }
  const digest = answer.body.RepoDigests?.find((one) => one.startsWith(`${name}@`)) ?? null;
  return { kind: 'ok', imageId: answer.body.Id, digest };
}

/** The header in which the Engine API takes credentials: they stand in no argument and no file. */
function registryAuth(credentials: RegistryCredentials | null, registry: string): Record<string, string> {
  if (credentials?.registry !== registry) return {};
  const { username, password } = credentials;
  const json = JSON.stringify({ username, password, serveraddress: registry });
  // Older engines insist on the padding that Node's base64url leaves out.
  const encoded = Buffer.from(json).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
  return { 'x-registry-auth': encoded };
}
