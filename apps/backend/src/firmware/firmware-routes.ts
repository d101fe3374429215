import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { isoTime } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import { RequestInvalidError } from '@station/kit/validation';
import { firmwareFileName, FirmwareReady, OtaCheck, OtaCheckQuery, OtaDeviceTypes } from '@station/protocol/firmware';
import {
  Firmware as FirmwareBody,
  FirmwareList,
  FirmwarePatch,
  NewRollout,
  Rollout,
  rolloutActions,
  type RolloutAction,
  RolloutDetails,
  Rollouts,
} from '@station/protocol/firmware-rollouts';
import { Id } from '@station/protocol/rest';
import { parseVersion } from '@station/protocol/version';
import type { AgentClient } from '../adapters/agent-client.ts';
import { userOf } from '../http/access.ts';
import type { HttpServer, ReplyOf, RequestOf } from '../http/server.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { type Firmware, toRollout, toRolloutTarget } from './firmware.ts';
import type { FirmwareImage } from './image-store.ts';
import type { RolloutRecord, RolloutStore } from './rollout-store.ts';

type Parts = { firmware: Firmware; agent: Pick<AgentClient, 'call'>; devices: Pick<DeviceStore, 'findById'> };

/** /api/firmware, /api/firmware/rollouts and /api/ota (contracts, section 9). */
export async function registerFirmwareRoutes(app: HttpServer, parts: Parts): Promise<void> {
  app.get('/api/firmware', typesRoute, () => listTypes(parts));
  app.patch('/api/firmware/:type', modeRoute, (request) => setMode(parts, request));
  app.get('/api/firmware/rollouts', rolloutsRoute, () => listRollouts(parts));
  app.get('/api/firmware/rollouts/:id', rolloutRoute, (request) => getRollout(parts, request));
  app.post('/api/firmware/rollouts', requestRoute, (request, reply) => requestRollout(parts, request, reply));
  for (const action of rolloutActions) {
    app.post(`/api/firmware/rollouts/:id/${action}`, actionRoute, (request) => act(parts, action, request));
  }
  app.get('/api/ota/device-types', otaTypesRoute, () => listOtaTypes(parts));
  app.post('/api/ota/firmware-ready', readyRoute, (request, reply) => addImage(parts, request, reply));
  app.get('/api/ota/check', checkRoute, (request) => checkForDevice(parts, request));
}

const tags = ['firmware'];
const otaTags = ['ota'];
const forUsers = { access: 'user' } as const;
const forAdmins = { access: { station: 'admin' } } as const;
const forAgent = { access: 'agent' } as const;
const forDevices = { access: 'device' } as const;
const Params = Type.Object({ id: Id });

const typesRoute = { config: forUsers, schema: { tags, response: { 200: FirmwareList } } };

async function listTypes({ firmware: { images }, agent }: Parts): Promise<FirmwareBody[]> {
  const [all, installed, isGone] = await Promise.all([images.list(), images.installed(), readRemovedFiles(agent)]);
  const types = new Set([...all, ...installed].map(({ type }) => type));
  return Promise.all(
    [...types].sort().map(async (type) => ({
      type,
      mode: await images.modeOf(type),
      images: all
        .filter((image) => image.type === type && !isGone(image))
        .map(({ version, size, ready_at: readyAt }) => ({ version, size, readyAt: isoTime(readyAt) })),
      installed: installed.filter((row) => row.type === type).map(({ version, devices }) => ({ version, devices })),
    })),
  );
}

const modeRoute = {
  config: forAdmins,
  schema: {
    tags,
    params: Type.Object({ type: Type.String({ minLength: 1, maxLength: 128 }) }),
    body: FirmwarePatch,
    response: { 200: FirmwareBody },
  },
};

async function setMode(parts: Parts, request: RequestOf<typeof modeRoute>): Promise<FirmwareBody> {
  const { type } = request.params;
  const find = async (): Promise<FirmwareBody> => {
    const found = (await listTypes(parts)).find((one) => one.type === type);
    if (found === undefined) throw new StationError('not_found', 'There is no such device type.');
    return found;
  };
  await find();
  await parts.firmware.images.setMode(type, request.body.mode);
  return find();
}

const rolloutsRoute = { config: forUsers, schema: { tags, response: { 200: Rollouts } } };
const maxListed = 50;

async function listRollouts({ firmware: { store } }: Parts): Promise<Rollout[]> {
  return Promise.all((await store.list(maxListed)).map((rollout) => summaryOf(store, rollout)));
}

const rolloutRoute = { config: forUsers, schema: { tags, params: Params, response: { 200: RolloutDetails } } };

async function getRollout({ firmware: { store } }: Parts, request: RequestOf<typeof rolloutRoute>) {
  return detailsOf(store, await findRollout(store, request.params.id));
}

const requestRoute = { config: forAdmins, schema: { tags, body: NewRollout, response: { 201: RolloutDetails } } };

async function requestRollout(
  { firmware: { images, rollouts, store }, agent }: Parts,
  request: RequestOf<typeof requestRoute>,
  reply: ReplyOf<typeof requestRoute>,
) {
  const { type, version } = request.body;
  const image = await images.find(type, version);
  if (image === null) throw new StationError('not_found', 'There is no firmware of this version for this type.');
  if ((await readRemovedFiles(agent))(image)) {
    const help = 'Publish this firmware again under a newer version.';
    throw new StationError('conflict', `The file of this version is not on the station any more. ${help}`);
  }
  const rollout = await rollouts.request(image, userOf(request).userId);
  if (rollout === null) throw new StationError('conflict', 'No device of this type can take this version.');
  return reply.code(201).send(await detailsOf(store, rollout));
}

const actionRoute = { config: forAdmins, schema: { tags, params: Params, response: { 200: Rollout } } };

async function act(
  { firmware: { rollouts, store } }: Parts,
  action: RolloutAction,
  request: RequestOf<typeof actionRoute>,
): Promise<Rollout> {
  const { id } = request.params;
  const { state } = await findRollout(store, id);
  const rollout = await rollouts.act(id, action);
  if (rollout === null) throw new StationError('conflict', `A rollout that is "${state}" cannot do that.`);
  return summaryOf(store, rollout);
}

const otaTypesRoute = { config: forAgent, schema: { tags: otaTags, response: { 200: OtaDeviceTypes } } };

async function listOtaTypes({ firmware: { images } }: Parts) {
  const [all, installed] = [await images.list(), await images.installed()];
  const types = new Set([...all, ...installed].map(({ type }) => type));
  return [...types].sort().map((type) => ({
    type,
    installed: installed.filter((row) => row.type === type).map(({ version }) => version ?? ''),
    cached: all.find((image) => image.type === type)?.version ?? null,
  }));
}

const readyRoute = {
  config: forAgent,
  schema: { tags: otaTags, body: FirmwareReady, response: { 204: Type.Null() } },
};

/** Adds an image that the agent has downloaded. */
async function addImage(
  { firmware: { images, rollouts } }: Parts,
  request: RequestOf<typeof readyRoute>,
  reply: ReplyOf<typeof readyRoute>,
) {
  const { name, version, file, path = null, checksum, size, chip, minVersion } = request.body;
  if (parseVersion(version)?.text !== version) throw fault('/version', 'must be SemVer');
  if (file !== firmwareFileName(name, version)) throw fault('/file', 'must be <name>@<version>.bin');
  const content = { file, path, checksum, size, chip: chip ?? null, min_version: minVersion ?? null };
  const image = await images.put({ type: name, version, ...content });
  if (image === null) throw new StationError('conflict', 'This version is known with another checksum.');
  await rollouts.offer(image);
  return reply.code(204).send(null);
}

const checkRoute = {
  config: forDevices,
  schema: { tags: otaTags, querystring: OtaCheckQuery, response: { 200: OtaCheck } },
};

/** A device asks whether there is an update for it. */
async function checkForDevice({ firmware, devices }: Parts, request: RequestOf<typeof checkRoute>) {
  const { device_id: claimed, version } = request.query;
  const device = await devices.findById(request.deviceId as string);
  if (device === null || (claimed !== device.external_id && claimed !== device.id)) {
    throw new StationError('forbidden', 'The token belongs to another device.');
  }
  const image = await firmware.rollouts.ask({ deviceId: device.id, type: device.type, version });
  if (image === null) return { update: false as const };
  const { checksum, size } = image;
  // Uses the host name of the device's own request.
  const url = `${request.protocol}://${request.host}${firmware.pathOf(image)}`;
  return { update: true as const, version: image.version, url, checksum, size };
}

const summaryOf = async (store: RolloutStore, rollout: RolloutRecord): Promise<Rollout> =>
  toRollout(rollout, await store.targets(rollout.id));

async function detailsOf(store: RolloutStore, rollout: RolloutRecord): Promise<RolloutDetails> {
  const targets = await store.targets(rollout.id);
  return { ...toRollout(rollout, targets), targets: targets.map(toRolloutTarget) };
}

async function findRollout(store: RolloutStore, id: string): Promise<RolloutRecord> {
  const rollout = await store.find(id);
  if (rollout === null) throw new StationError('not_found', 'There is no such rollout.');
  return rollout;
}

const fault = (pointer: string, message: string): RequestInvalidError =>
  new RequestInvalidError([{ in: 'body', pointer, message }]);

/** The part of the agent's /status that is read here. */
const AgentFirmware = Type.Object({
  firmware: Type.Object({ files: Type.Array(Type.Object({ name: Type.String(), version: Type.String() })) }),
});
/** The agent answers from memory, on the same machine; a short limit avoids waiting for a hanging one. */
const answerTimeoutMs = 2_000;

/**
 * Which images cannot be installed any more: the backend keeps its records of images, the agent removes old files. Read from the agent each
 * time, so that no record can be wrong. If the agent does not answer or lists no files, no image counts as removed.
 */
async function readRemovedFiles(
  agent: Pick<AgentClient, 'call'>,
): Promise<(image: Pick<FirmwareImage, 'type' | 'version'>) => boolean> {
  const answer = await agent.call('GET', '/status', { timeoutMs: answerTimeoutMs }).catch(() => null);
  if (answer?.statusCode !== 200 || !Value.Check(AgentFirmware, answer.body)) return () => false;
  const { files } = answer.body.firmware;
  return ({ type, version }) => !files.some((file) => file.name === type && file.version === version);
}
