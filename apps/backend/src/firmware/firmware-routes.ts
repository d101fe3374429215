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
  RolloutDetails,
  Rollouts,
} from '@station/protocol/firmware-rollouts';
import { Id } from '@station/protocol/rest';
import { parseVersion } from '@station/protocol/version';
import type { AgentClient } from '../adapters/agent-client.ts';
import { userOf } from '../http/access.ts';
import type { HttpServer } from '../http/server.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { type Firmware, toRollout, toRolloutTarget } from './firmware.ts';
import type { FirmwareImage } from './image-store.ts';
import type { RolloutRecord } from './rollout-store.ts';

const Params = Type.Object({ id: Id });
const TypeParams = Type.Object({ type: Type.String({ minLength: 1, maxLength: 128 }) });
const listed = 50;
const forAdmins = { access: { station: 'admin' } } as const;
const tags = ['firmware'];

type Parts = { firmware: Firmware; agent: Pick<AgentClient, 'call'>; devices: Pick<DeviceStore, 'findById'> };

/** /api/firmware, /api/firmware/rollouts and /api/ota (contracts, section 9). */
export async function registerFirmwareRoutes(app: HttpServer, parts: Parts): Promise<void> {
  registerTypes(app, parts);
  registerRollouts(app, parts);
  registerOta(app, parts);
}

function registerTypes(app: HttpServer, { firmware: { images }, agent }: Parts): void {
  const list = async (): Promise<FirmwareBody[]> => {
    const [all, installed, isGone] = await Promise.all([images.list(), images.installed(), askWhatIsGone(agent)]);
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
  };

  app.get('/api/firmware', { config: { access: 'user' }, schema: { tags, response: { 200: FirmwareList } } }, list);

  app.patch(
    '/api/firmware/:type',
    { config: forAdmins, schema: { tags, params: TypeParams, body: FirmwarePatch, response: { 200: FirmwareBody } } },
    async (request) => {
      const { type } = request.params;
      const find = async () => (await list()).find((one) => one.type === type);
      if ((await find()) === undefined) throw new StationError('not_found', 'There is no such device type.');
      await images.setMode(type, request.body.mode);
      return await find();
    },
  );
}

function registerRollouts(app: HttpServer, { firmware: { images, store, rollouts }, agent }: Parts): void {
  const brief = async (rollout: RolloutRecord): Promise<Rollout> => toRollout(rollout, await store.targets(rollout.id));
  const details = async (rollout: RolloutRecord): Promise<RolloutDetails> => {
    const targets = await store.targets(rollout.id);
    return { ...toRollout(rollout, targets), targets: targets.map(toRolloutTarget) };
  };
  const found = async (id: string): Promise<RolloutRecord> => {
    const rollout = await store.find(id);
    if (rollout === null) throw new StationError('not_found', 'There is no such rollout.');
    return rollout;
  };

  app.get(
    '/api/firmware/rollouts',
    { config: { access: 'user' }, schema: { tags, response: { 200: Rollouts } } },
    async () => Promise.all((await store.list(listed)).map(brief)),
  );

  app.get(
    '/api/firmware/rollouts/:id',
    { config: { access: 'user' }, schema: { tags, params: Params, response: { 200: RolloutDetails } } },
    async (request) => details(await found(request.params.id)),
  );

  app.post(
    '/api/firmware/rollouts',
    { config: forAdmins, schema: { tags, body: NewRollout, response: { 201: RolloutDetails } } },
    async (request, reply) => {
      const { type, version } = request.body;
      const image = await images.find(type, version);
      if (image === null) throw new StationError('not_found', 'There is no firmware of this version for this type.');
      if ((await askWhatIsGone(agent))(image)) {
        const help = 'Publish this firmware again under a newer version.';
        throw new StationError('conflict', `The file of this version is not on the station any more. ${help}`);
      }
      const rollout = await rollouts.request(image, userOf(request).userId);
      if (rollout === null) throw new StationError('conflict', 'No device of this type can take this version.');
      return reply.code(201).send(await details(rollout));
    },
  );

  for (const action of rolloutActions) {
    app.post(
      `/api/firmware/rollouts/:id/${action}`,
      { config: forAdmins, schema: { tags, params: Params, response: { 200: Rollout } } },
      async (request) => {
        const { id } = request.params;
        const { state } = await found(id);
        const rollout = await rollouts.act(id, action);
        if (rollout === null) throw new StationError('conflict', `A rollout that is "${state}" cannot do that.`);
        return brief(rollout);
      },
    );
  }
}

/** /api/ota/*: images from the agent, and requests of devices (contracts, section 9). */
function registerOta(app: HttpServer, { firmware, devices }: Parts): void {
  const tags = ['ota'];
  const { images, rollouts, pathOf } = firmware;

  app.get(
    '/api/ota/device-types',
    { config: { access: 'agent' }, schema: { tags, response: { 200: OtaDeviceTypes } } },
    async () => {
      const [all, installed] = [await images.list(), await images.installed()];
      const types = new Set([...all, ...installed].map(({ type }) => type));
      return [...types].sort().map((type) => ({
        type,
        installed: installed.filter((row) => row.type === type).map(({ version }) => version ?? ''),
        cached: all.find((image) => image.type === type)?.version ?? null,
      }));
    },
  );

  app.post(
    '/api/ota/firmware-ready',
    { config: { access: 'agent' }, schema: { tags, body: FirmwareReady, response: { 204: Type.Null() } } },
    async (request, reply) => {
      const { name, version, file, path = null, checksum, size, chip, minVersion } = request.body;
      if (parseVersion(version)?.text !== version) throw fault('/version', 'must be SemVer');
      if (file !== firmwareFileName(name, version)) throw fault('/file', 'must be <name>@<version>.bin');
      const content = { file, path, checksum, size, chip: chip ?? null, min_version: minVersion ?? null };
      const image = await images.put({ type: name, version, ...content });
      if (image === null) throw new StationError('conflict', 'This version is known with another checksum.');
      await rollouts.offer(image);
      return reply.code(204).send(null);
    },
  );

  app.get(
    '/api/ota/check',
    { config: { access: 'device' }, schema: { tags, querystring: OtaCheckQuery, response: { 200: OtaCheck } } },
    async (request) => {
      const { device_id: claimed, version } = request.query;
      const device = await devices.findById(request.deviceId as string);
      if (device === null || (claimed !== device.external_id && claimed !== device.id)) {
        throw new StationError('forbidden', 'The token belongs to another device.');
      }
      const image = await rollouts.ask({ deviceId: device.id, type: device.type, version });
      if (image === null) return { update: false as const };
      const { checksum, size } = image;
      // Uses the host name of the device's own request.
      const url = `${request.protocol}://${request.host}${pathOf(image)}`;
      return { update: true as const, version: image.version, url, checksum, size };
    },
  );
}

const fault = (pointer: string, message: string): RequestInvalidError =>
  new RequestInvalidError([{ in: 'body', pointer, message }]);

/** What is read here of the agent's /status. */
const AgentFirmware = Type.Object({
  firmware: Type.Object({ files: Type.Array(Type.Object({ name: Type.String(), version: Type.String() })) }),
});
/** The agent answers from memory, on the same machine; a short limit avoids waiting for a hanging one. */
const answerTimeoutMs = 2_000;

/**
 * Which images cannot be installed any more: the backend knows of images for ever, the agent removes old files. Asked anew each time, so
 * that there is no record that could be wrong. An agent that does not answer, or does not say, leaves all as they are.
 */
async function askWhatIsGone(
  agent: Pick<AgentClient, 'call'>,
): Promise<(image: Pick<FirmwareImage, 'type' | 'version'>) => boolean> {
  const answer = await agent.call('GET', '/status', { timeoutMs: answerTimeoutMs }).catch(() => null);
  if (answer?.statusCode !== 200 || !Value.Check(AgentFirmware, answer.body)) return () => false;
  const { files } = answer.body.firmware;
  return ({ type, version }) => !files.some((file) => file.name === type && file.version === version);
}
