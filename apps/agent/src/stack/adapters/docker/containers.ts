import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { StationError } from '@station/kit/station-error';
import type { ContainerFact } from '../../stack-ports.ts';
import { type EngineApi, expectBody, fullDiskBytes, messageOf } from './engine-api.ts';

type Api = Pick<EngineApi, 'call'>;

/** Label of an image pin: a container that is never started and keeps its image from `docker image prune -a`. */
export const pinLabel = 'station.pin';
export const projectLabel = 'com.docker.compose.project';
const serviceLabel = 'com.docker.compose.service';
const oneOffLabel = 'com.docker.compose.oneoff';

export const ListedContainer = Type.Object({
  Id: Type.String(),
  ImageID: Type.String(),
  Names: Type.Optional(Type.Array(Type.String())),
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

/**
 * Containers of the project's services, without those of `docker compose run`.
 * @param names service → container name, used when no container has labels (it was created without Compose).
 */
export async function listContainers(
  api: Api,
  project: string,
  names: Readonly<Record<string, string>> = {},
): Promise<ContainerFact[]> {
  const labelled = (await list(api, { label: [`${projectLabel}=${project}`] })).flatMap(({ Id, Labels }) => {
    const service = Labels[serviceLabel];
    return service === undefined || Labels[oneOffLabel] === 'True' ? [] : [{ id: Id, service }];
  });
  const untold = Object.entries(names).filter(([service]) => !labelled.some((one) => one.service === service));
  const all = [...labelled, ...(untold.length > 0 ? await findByName(api, untold) : [])];
  const inspected = await Promise.all(all.map(({ id, service }) => inspect(api, id, service)));
  return inspected.filter((container) => container !== null);
}

/** Containers by name, without those whose labels belong to something else. */
async function findByName(api: Api, wanted: readonly (readonly [service: string, name: string])[]) {
  // The engine takes each as a regular expression (Engine API, ContainerList).
  const patterns = wanted.map(([, name]) => `^/${name.replaceAll('.', '\\.')}$`);
  const found = (await list(api, { name: patterns })).filter(
    ({ Labels }) => !Labels[serviceLabel] && !Labels[pinLabel],
  );
  return wanted.flatMap(([service, name]) =>
    found.filter(({ Names = [] }) => Names.includes(`/${name}`)).map(({ Id }) => ({ id: Id, service })),
  );
}

/** All containers that match a filter, running or not. */
async function list(api: Api, filters: Readonly<Record<string, readonly string[]>>) {
  const query = { all: 'true', filters: JSON.stringify(filters) };
  const answer = await api.call('GET', '/containers/json', { query });
  return expectBody(answer, Type.Array(ListedContainer), 'GET /containers/json');
}

async function inspect(api: Api, id: string, service: string): Promise<ContainerFact | null> {
  const details = await api.call('GET', `/containers/${id}/json`);
  // It was removed between the two calls.
  if (details.status === 404) return null;
  const container = expectBody(details, Container, 'GET /containers/{id}/json');
  return {
    id,
    service,
    image: container.Config.Image,
    imageId: container.Image,
    state: container.State.Status,
    health: container.State.Health?.Status ?? 'none',
    restartCount: container.RestartCount,
    exitCode: container.State.ExitCode,
  };
}

const Stats = Type.Object({
  memory_stats: Type.Object({
    usage: Type.Optional(Type.Number()),
    limit: Type.Optional(Type.Number()),
    stats: Type.Optional(Type.Object({ inactive_file: Type.Optional(Type.Number()) })),
  }),
});

/** Without what the kernel can drop at once, as `docker stats` counts (Engine API, ContainerStats). */
export async function memoryUse(api: Api, containers: readonly ContainerFact[]): Promise<Record<string, number>> {
  const uses: [string, number][] = [];
  for (const { id, service } of containers) {
    const { status, body } = await api.call('GET', `/containers/${id}/stats`, {
      query: { stream: 'false', 'one-shot': 'true' },
    });
    if (status !== 200 || !Value.Check(Stats, body)) continue;
    const { usage, limit, stats } = body.memory_stats;
    if (usage !== undefined && limit) uses.push([service, (usage - (stats?.inactive_file ?? 0)) / limit]);
  }
  return Object.fromEntries(uses);
}

/** Image pins of the project: containers that are never started and keep an image from being pruned. */
export function listPins(api: Api, project: string) {
  return list(api, { label: [`${pinLabel}=${project}`] });
}

/**
 * Pins an image; creating the container proves that the engine can use it.
 * @param free bytes free where the engine keeps its data: on a full disk it cannot create a container from any image.
 */
export async function pinImage(
  api: Api,
  project: string,
  imageId: string,
  free: () => Promise<number | null>,
): Promise<'pinned' | 'absent' | 'broken' | 'unknown'> {
  const name = pinName(project, imageId);
  const body = {
    Image: imageId,
    Cmd: ['pin'],
    NetworkDisabled: true,
    // A container inherits the labels of its image, and images built by Compose name a service: clear those labels here.
    Labels: { [pinLabel]: project, [projectLabel]: '', [serviceLabel]: '' },
    HostConfig: { NetworkMode: 'none', RestartPolicy: { Name: 'no' } },
  };
  const { status, body: reply } = await api.call('POST', '/containers/create', { query: { name }, body });
  if (status === 201 || status === 409) return 'pinned';
  if (status === 404) return 'absent';
  if (status >= 500) return ((await free()) ?? Infinity) < fullDiskBytes ? 'unknown' : 'broken';
  throw new StationError('internal', 'an image could not be pinned', { cause: new Error(messageOf(reply)) });
}

/** Name of the container that pins an image. */
export const pinName = (project: string, imageId: string): string =>
  `station-pin-${project}-${imageId.replace('sha256:', '').slice(0, 16)}`;

/** Removes the pin of an image. */
export async function unpinImage(api: Api, project: string, imageId: string): Promise<void> {
  for (const pin of await listPins(api, project)) {
    if (pin.ImageID === imageId && isPin(pin, project)) await removePin(api, pin.Id);
  }
}

/** An image pin of the project, no container of its stack. */
export const isPin = ({ Labels }: Pick<Static<typeof ListedContainer>, 'Labels'>, project: string): boolean =>
  Labels[pinLabel] === project && !Labels[projectLabel];

/**
 * Removes an image pin, with the anonymous volumes that the engine made for it when the image declares some (Engine
 * API, ContainerDelete): nothing else removes them.
 */
export async function removePin(api: Api, id: string): Promise<void> {
  await api.call('DELETE', `/containers/${id}`, { query: { force: 'true', v: 'true' } });
}

const stopGraceSeconds = 5;

/** Starts or stops the containers of a service. */
export const setRunning = (api: Api, project: string, service: string, running: boolean): Promise<void> =>
  tellEach(api, { project, service }, running ? { verb: 'start', done: 'started' } : { verb: 'stop', done: 'stopped' });

/** Restarts the containers of a service. One call of the engine, so a service never stays stopped when this process ends. */
export const restartContainers = (api: Api, project: string, service: string): Promise<void> =>
  tellEach(api, { project, service }, { verb: 'restart', done: 'restarted' });

/**
 * Each container is tried before the first that failed is reported: one may be left over. One that is so already answers 304, one that is
 * gone 404 (Engine API, ContainerStart, ContainerStop and ContainerRestart).
 */
async function tellEach(
  api: Api,
  { project, service }: { project: string; service: string },
  { verb, done }: { verb: 'start' | 'stop' | 'restart'; done: string },
): Promise<void> {
  const failures: Error[] = [];
  for (const { Id } of await containersOf(api, project, service)) {
    const grace = verb === 'start' ? {} : { query: { t: String(stopGraceSeconds) } };
    const { status, body } = await api.call('POST', `/containers/${Id}/${verb}`, grace);
    if (![204, 304, 404].includes(status)) failures.push(new Error(messageOf(body)));
  }
  const [cause] = failures;
  if (cause !== undefined)
    throw new StationError('internal', `the service "${service}" could not be ${done}`, { cause });
}

/** The containers of a service, running or not, without those of `docker compose run`. */
export async function containersOf(api: Api, project: string, service: string) {
  const found = await list(api, { label: [`${projectLabel}=${project}`, `${serviceLabel}=${service}`] });
  return found.filter(({ Labels }) => Labels[oneOffLabel] !== 'True');
}
