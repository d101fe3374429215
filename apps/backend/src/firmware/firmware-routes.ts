import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { isoTime } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import { parseFirmwareName } from '@station/protocol/firmware';
import {
  type Firmware as FirmwareBody,
  type NewRollout,
  type Rollout,
  rolloutActions,
  type RolloutAction,
  type RolloutDetails,
} from '@station/protocol/firmware-rollouts';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import { userOf } from '../http/access.ts';
import { pageOf } from '../http/pages.ts';
import { type ReplyOf, type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import { type Firmware, toRollout, toRolloutTarget } from './firmware.ts';
import { type FirmwareImage, type ImageStore, orderVersions } from './image-store.ts';
import type { RolloutRecord, RolloutStore } from './rollout-store.ts';

type Parts = { firmware: Firmware; agent: Pick<AgentClient, 'call'> };

/** /api/firmware and /api/firmware/rollouts (contracts, section 9). */
export async function registerFirmwareRoutes(app: HttpServer, parts: Parts): Promise<void> {
  serve(app, 'GET /api/firmware', async (request, reply) =>
    pageOf({ request, reply }, await listTypes(parts), ({ type }) => type),
  );
  serve(app, 'GET /api/firmware/rollouts', async (request, reply) =>
    pageOf({ request, reply }, await listRollouts(parts), ({ id }) => id),
  );
  serve(app, 'GET /api/firmware/rollouts/:id', (request, reply) => getRollout(parts, request, reply));
  serve(app, 'POST /api/firmware/rollouts', (request, reply) => requestRollout(parts, request, reply));
  for (const action of rolloutActions) {
    serve(app, `POST /api/firmware/rollouts/:id/${action}`, (request) => act(parts, action, request));
  }
}

async function listTypes({ firmware: { images }, agent }: Parts): Promise<FirmwareBody[]> {
  const [all, installed, isGone] = await Promise.all([images.list(), images.installed(), readRemovedFiles(agent)]);
  const known = new Set(installed.map(({ type }) => type));
  const typeOf = ({ name }: FirmwareImage): string => (known.has(name) ? name : parseFirmwareName(name).type);
  const types = new Set([...known, ...all.map(typeOf)]);
  return [...types].sort().map((type) => ({
    type,
    images: toVersions(all.filter((image) => typeOf(image) === type && !isGone(image))),
    installed: countVersions(installed.filter((row) => row.type === type)),
  }));
}

/** One entry for each version: it may have a file for each chip. */
function toVersions(all: readonly FirmwareImage[]): FirmwareBody['images'] {
  const newestFirst = all.toSorted((a, b) => orderVersions(b.version, a.version));
  const versions = Map.groupBy(newestFirst, ({ version }) => version);
  return [...versions].map(([version, own]) => {
    const chips = own.flatMap(({ name }) => parseFirmwareName(name).chip ?? []).sort();
    const size = Math.max(...own.map((image) => image.size));
    const readyAt = isoTime(Math.min(...own.map(({ ready_at: at }) => at)));
    return { version, size, readyAt, ...(chips.length === 0 ? {} : { chips }) };
  });
}

function countVersions(rows: readonly { version: string | null; devices: number }[]): FirmwareBody['installed'] {
  const versions = Map.groupBy(rows, ({ version }) => version);
  return [...versions].map(([version, own]) => ({
    version,
    devices: own.reduce((sum, { devices }) => sum + devices, 0),
  }));
}

const maxListed = 50;

async function listRollouts({ firmware: { store } }: Parts): Promise<Rollout[]> {
  return Promise.all((await store.list(maxListed)).map((rollout) => summaryOf(store, rollout)));
}

async function getRollout(
  { firmware: { store } }: Parts,
  request: RequestOf<'GET /api/firmware/rollouts/:id'>,
  reply: ReplyOf<'GET /api/firmware/rollouts/:id'>,
) {
  const { targets, ...rollout } = await detailsOf(store, await findRollout(store, request.params.id));
  const usedBytes = Buffer.byteLength(JSON.stringify({ ...rollout, targets: [] }));
  return { ...rollout, targets: pageOf({ request, reply }, targets, ({ deviceId }) => deviceId, usedBytes) };
}

async function requestRollout(
  { firmware: { images, rollouts, store }, agent }: Parts,
  request: RequestOf<'POST /api/firmware/rollouts'>,
  reply: ReplyOf<'POST /api/firmware/rollouts'>,
) {
  const found = await findImages(images, request.body);
  if (found.length === 0) throw new StationError('not_found', 'There is no firmware of this version for this type.');
  const isGone = await readRemovedFiles(agent);
  const present = found.filter((image) => !isGone(image));
  if (present.length === 0) {
    const help = 'Publish this firmware again under a newer version.';
    throw new StationError('conflict', `The file of this version is not on the station any more. ${help}`);
  }
  let first: RolloutRecord | null = null;
  for (const image of present) {
    const rollout = await rollouts.request(image, userOf(request).userId);
    first ??= rollout;
  }
  if (first === null) throw new StationError('conflict', 'No device of this type can take this version.');
  return reply.code(201).send(await detailsOf(store, first));
}

/** The images of a version: for devices of any chip, then for each chip, or for the given chip only. */
async function findImages(images: ImageStore, { type, version, chip }: NewRollout): Promise<FirmwareImage[]> {
  const isOf = ({ name }: FirmwareImage): boolean => name === type || parseFirmwareName(name).type === type;
  const found = (await images.list()).filter((image) => image.version === version && isOf(image));
  const wanted = chip === undefined ? found : found.filter(({ name }) => parseFirmwareName(name).chip === chip);
  return wanted.sort((a, b) => Number(b.name === type) - Number(a.name === type));
}

async function act(
  { firmware: { rollouts, store } }: Parts,
  action: RolloutAction,
  request: RequestOf<`POST /api/firmware/rollouts/:id/${RolloutAction}`>,
): Promise<Rollout> {
  const { id } = request.params;
  const { state } = await findRollout(store, id);
  const rollout = await rollouts.act(id, action);
  if (rollout === null) throw new StationError('conflict', `A rollout that is "${state}" cannot do that.`);
  return summaryOf(store, rollout);
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
): Promise<(image: Pick<FirmwareImage, 'name' | 'version'>) => boolean> {
  const answer = await agent.call('GET', '/status', { timeoutMs: answerTimeoutMs }).catch(() => null);
  if (answer?.statusCode !== 200 || !Value.Check(AgentFirmware, answer.body)) return () => false;
  const { files } = answer.body.firmware;
  return ({ name, version }) => !files.some((file) => file.name === name && file.version === version);
}
