import { Type } from 'typebox';
import { isoTime } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
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
import type { AgentClient } from '../adapters/agent-client.ts';
import { askWhatIsGone } from './cached-files.ts';
import { toRollout, toRolloutTarget, type Firmware } from './firmware.ts';
import type { RolloutRecord } from './rollout-store.ts';
import { userOf } from '../http/access.ts';
import type { HttpServer } from '../http/server.ts';

const Params = Type.Object({ id: Id });
const TypeParams = Type.Object({ type: Type.String({ minLength: 1, maxLength: 128 }) });
const listed = 50;
const forAdmins = { access: { station: 'admin' } } as const;
const tags = ['firmware'];

type Parts = { firmware: Firmware; agent: Pick<AgentClient, 'call'> };

/** /api/firmware and /api/firmware/rollouts (contracts, section 9). */
export async function registerFirmwareRoutes(app: HttpServer, parts: Parts): Promise<void> {
  registerTypes(app, parts);
  registerRollouts(app, parts);
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
