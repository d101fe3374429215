import { statfs } from 'node:fs/promises';
import { runCommand } from '@station/kit/command';
import { StationError } from '@station/kit/station-error';
import { parseImageReference } from '@station/protocol/image-reference';
import { Type, type Static, type TSchema } from 'typebox';
import { Value } from 'typebox/value';
import type { ContainerFact } from '../../containers/facts.ts';
import type { LayersAnswer, PullAnswer, PullProgress, StackEngine, UpAnswer } from '../../containers/ports.ts';
import { createCompose, type ComposeParts } from './compose.ts';
import { createEngineApi, type ApiAnswer, type EngineApi } from './engine-api.ts';
import { createPullMeter, type PullLine } from './pull-meter.ts';
import { readLayers, type RegistryCredentials } from './registry.ts';

export type DockerParts = Omit<ComposeParts, 'env'> & {
  socketPath: string;
  credentials: RegistryCredentials | null;
  /** PATH, HOME and the like for the `docker` and `sync` programs. */
  env: Record<string, string>;
  /** Wall clock, epoch milliseconds. */
  now: () => number;
  /** Called when the project's environment file could not be linked to the override, or could again. */
  onLink: (linked: boolean) => void;
};

/** Label of the containers that hold an image: never started, they keep it from `docker image prune -a`. */
const holdLabel = 'station.hold';
const projectLabel = 'com.docker.compose.project';
const serviceLabel = 'com.docker.compose.service';
const oneOffLabel = 'com.docker.compose.oneoff';

const Info = Type.Object({
  DockerRootDir: Type.String(),
  OSType: Type.String(),
  RegistryConfig: Type.Optional(
    Type.Object({
      IndexConfigs: Type.Optional(Type.Record(Type.String(), Type.Object({ Secure: Type.Boolean() }))),
    }),
  ),
});
const EngineVersion = Type.Object({ Os: Type.String(), Arch: Type.String() });
const Image = Type.Object({
  Id: Type.String(),
  RepoDigests: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
});
const ListedContainer = Type.Object({
  Id: Type.String(),
  ImageID: Type.String(),
  Labels: Type.Record(Type.String(), Type.String()),
});
const Container = Type.Object({
  Id: Type.String(),
  Image: Type.String(),
  RestartCount: Type.Number(),
  Config: Type.Object({ Image: Type.String() }),
  State: Type.Object({
    Status: Type.String(),
    ExitCode: Type.Number(),
    Health: Type.Optional(Type.Union([Type.Object({ Status: Type.String() }), Type.Null()])),
  }),
});

/** Docker Engine and Compose v2 as the station's container engine. */
export function createDockerEngine(parts: DockerParts): StackEngine & Disposable {
  const api = createEngineApi(parts.socketPath);
  const compose = createCompose({ ...parts, env: { ...parts.env, DOCKER_HOST: `unix://${parts.socketPath}` } });
  const sizes = new Map<string, Record<string, number>>();
  const info = createInfo(api, parts.now);
  let project: { name: string; services: string[] } | null = null;
  let readProject: string | null = null;

  const projectName = async (): Promise<string> => {
    project ??= await compose.describe(new AbortController().signal);
    return project.name;
  };
  const link = async (): Promise<void> => parts.onLink(await compose.link());

  return {
    services: async () => {
      // Asking Compose takes longer than all the rest of a check: only when its files have changed.
      const version = await compose.version();
      if (!project || version !== readProject) project = await compose.describe(new AbortController().signal);
      readProject = version;
      return project.services;
    },
    containers: async () => listContainers(api, await projectName()),
    imageId: async (reference) => {
      const answer = await api.call('GET', `/images/${encodeURIComponent(reference)}/json`);
      return answer.status === 200 && Value.Check(Image, answer.body) ? answer.body.Id : null;
    },
    heldImages: async () => (await listHolders(api, await projectName())).map((holder) => holder.ImageID),
    hold: async (imageId) => hold(api, await projectName(), imageId),
    releaseHold: async (imageId) => {
      const holders = await listHolders(api, await projectName());
      for (const holder of holders.filter((one) => one.ImageID === imageId)) {
        await api.call('DELETE', `/containers/${holder.Id}`, { query: { force: 'true' } });
      }
    },
    removeImage: async (reference, { force }) => removeImage(api, reference, force),
    layers: async (reference, signal) => {
      const answer = await askLayers(api, info, parts.credentials, reference, signal);
      if (answer.kind === 'ok') sizes.set(reference, answer.layers);
      return answer;
    },
    freeBytes: async () => freeBytes((await info()).DockerRootDir),
    pull: async (reference, onProgress, signal) =>
      pull(api, info, reference, {
        credentials: parts.credentials,
        sizes: sizes.get(reference) ?? {},
        onProgress,
        signal,
      }),
    verifyImage: async (imageId, signal) => {
      // The engine checks every layer against its digest while it hands the image out, and breaks off when one is wrong.
      const answer = await api.drain('GET', `/images/${encodeURIComponent(imageId)}/get`, { signal });
      return answer.status === 200 && answer.complete;
    },
    up: async (signal) => {
      await link();
      return up(api, compose, await projectName(), parts.now, signal);
    },
    sync: async () => {
      const { DockerRootDir } = await info();
      const result = await runCommand('sync', ['-f', DockerRootDir], { env: parts.env });
      if (result.exitCode !== 0)
        throw new StationError('internal', 'the file system of the container engine cannot be synced');
    },
    [Symbol.dispose]: () => api[Symbol.dispose](),
  };
}

type ReadInfo = () => Promise<Static<typeof Info>>;

/** What the engine says of itself is slow to ask and changes only with its restart. */
const infoKeptMs = 60_000;

function createInfo(api: EngineApi, now: () => number): ReadInfo {
  let kept: { at: number; info: Static<typeof Info> } | null = null;
  return async () => {
    if (kept && Math.abs(now() - kept.at) < infoKeptMs) return kept.info;
    kept = { at: now(), info: expectBody(await api.call('GET', '/info'), Info, 'GET /info') };
    return kept.info;
  };
}

async function listContainers(api: EngineApi, project: string): Promise<ContainerFact[]> {
  const filters = JSON.stringify({ label: [`${projectLabel}=${project}`] });
  const answer = await api.call('GET', '/containers/json', { query: { all: 'true', filters } });
  const listed = expectBody(answer, Type.Array(ListedContainer), 'GET /containers/json');
  const ours = listed.filter(({ Labels }) => serviceLabel in Labels && Labels[oneOffLabel] !== 'True');
  const inspected = await Promise.all(
    ours.map(async ({ Id, Labels }) => {
      const details = await api.call('GET', `/containers/${Id}/json`);
      // Gone between the two calls: then it is no container of the stack any more.
      if (details.status === 404) return null;
      const container = expectBody(details, Container, 'GET /containers/{id}/json');
      return {
        id: Id,
        service: Labels[serviceLabel] as string,
        image: container.Config.Image,
        imageId: container.Image,
        state: container.State.Status,
        health: container.State.Health?.Status ?? 'none',
        restartCount: container.RestartCount,
        exitCode: container.State.ExitCode,
      };
    }),
  );
  return inspected.filter((container) => container !== null);
}

async function listHolders(api: EngineApi, project: string) {
  const filters = JSON.stringify({ label: [`${holdLabel}=${project}`] });
  const answer = await api.call('GET', '/containers/json', { query: { all: 'true', filters } });
  return expectBody(answer, Type.Array(ListedContainer), 'GET /containers/json');
}

async function hold(api: EngineApi, project: string, imageId: string): Promise<'held' | 'absent' | 'broken'> {
  const name = `station-hold-${project}-${imageId.replace('sha256:', '').slice(0, 16)}`;
  const body = {
    Image: imageId,
    Cmd: ['hold'],
    NetworkDisabled: true,
    Labels: { [holdLabel]: project },
    HostConfig: { NetworkMode: 'none', RestartPolicy: { Name: 'no' } },
  };
  const { status, body: told } = await api.call('POST', '/containers/create', { query: { name }, body });
  if (status === 201 || status === 409) return 'held';
  if (status === 404) return 'absent';
  if (status >= 500) return 'broken';
  throw new StationError('internal', 'an image could not be held', { cause: new Error(messageOf(told)) });
}

async function removeImage(
  api: EngineApi,
  reference: string,
  force: boolean,
): Promise<'removed' | 'in_use' | 'absent'> {
  const filters = JSON.stringify({ ancestor: [reference] });
  const users = await api.call('GET', '/containers/json', { query: { all: 'true', filters } });
  const using = Value.Check(Type.Array(ListedContainer), users.body) ? users.body : [];
  // Forced removal would take an image from under a stopped container of somebody else.
  if (using.some(({ Labels }) => !(holdLabel in Labels) && !(projectLabel in Labels))) return 'in_use';
  // A stopped container keeps the layers, and the next pull would take them up again however damaged they are. Without force
  // the engine leaves a running one alone.
  if (force) for (const { Id } of using) await api.call('DELETE', `/containers/${Id}`);
  const answer = await api.call('DELETE', `/images/${encodeURIComponent(reference)}`, {
    query: { force: String(force) },
  });
  if (answer.status === 404) return 'absent';
  return answer.status === 200 ? 'removed' : 'in_use';
}

async function askLayers(
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

/** Room below which a failed pull is taken as a full disk. */
const fullDiskBytes = 8 * 1024 * 1024;

async function pull(api: EngineApi, info: ReadInfo, text: string, options: PullOptions): Promise<PullAnswer> {
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

async function up(
  api: EngineApi,
  compose: ReturnType<typeof createCompose>,
  project: string,
  now: () => number,
  signal: AbortSignal,
): Promise<UpAnswer> {
  const since = now();
  const result = await compose.up(signal).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof DOMException && error.name === 'TimeoutError') return null;
    throw error;
  });
  if (!result) return { kind: 'failed', reason: 'starting the release did not come to an end', hung: true };
  if (result.exitCode !== 0) {
    return {
      kind: 'failed',
      reason: 'the container engine could not start the release',
      detail: result.stderr.trim().slice(-800),
    };
  }
  return { kind: 'ok', stoppedAtMs: await firstStop(api, project, since, now()) };
}

/** When the first container of the project ended in a stretch of time, by the engine's own record. */
async function firstStop(api: EngineApi, project: string, sinceMs: number, untilMs: number): Promise<number | null> {
  const filters = JSON.stringify({ type: ['container'], event: ['die'], label: [`${projectLabel}=${project}`] });
  const query = { since: (sinceMs / 1000).toFixed(3), until: (untilMs / 1000).toFixed(3), filters };
  let first: number | null = null;
  await api.lines(
    'GET',
    '/events',
    (line) => {
      const { timeNano } = line as { timeNano?: unknown };
      if (typeof timeNano === 'number') first = Math.min(first ?? Infinity, timeNano / 1e6);
    },
    { query },
  );
  return first;
}

async function freeBytes(path: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch {
    return null;
  }
}

function expectBody<T extends TSchema>(answer: ApiAnswer, schema: T, what: string): Static<T> {
  if (answer.status < 300 && Value.Check(schema, answer.body)) return answer.body;
  throw new StationError('unavailable', `the container engine did not answer ${what} as expected`, {
    cause: new Error(messageOf(answer.body)),
  });
}

function messageOf(body: unknown): string {
  const message = typeof body === 'object' && body !== null && 'message' in body ? body.message : null;
  return typeof message === 'string' ? message.slice(0, 500) : 'no reason given';
}
