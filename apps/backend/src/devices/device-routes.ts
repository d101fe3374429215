import { Type } from 'typebox';
import { ActivityQuery } from '@station/protocol/activity';
import { Device, DeviceEvents, DevicePatch, DeviceRemoval, Devices, EventsQuery } from '@station/protocol/devices';
import { Id, PageQuery } from '@station/protocol/rest';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';
import type { PublishCommand } from '../core/commands.ts';
import type { DeviceEvents as DeviceHub } from '../core/device-events.ts';
import type { StationEvents } from '../core/station-events.ts';
import { type Sight, wholeStation, zoneList } from '../core/sight.ts';
import { findUnstorable } from '../core/storable-text.ts';
import { type DeviceRow, type DeviceStore, toDevice } from '../store/device-store.ts';
import type { LargeReads } from './large-reads.ts';
import type { ZoneStore } from './zones.ts';
import { removeDevice } from './removed-devices.ts';
import { sightOf, userOf } from '../http/access.ts';
import { sendLarge } from '../http/pages.ts';
import type { HttpServer, ReplyOf, RequestOf } from '../http/server.ts';
import { RequestInvalidError } from '@station/kit/validation';

export type DeviceRoutesParts = {
  devices: DeviceStore;
  zones: ZoneStore;
  reads: LargeReads;
  /** Receives an event for each device that is changed or removed here. */
  events: DeviceHub;
  /** For the activity. */
  stationEvents: StationEvents;
  /** Sends a removed device its last command. */
  publish: PublishCommand;
  clock: Clock;
  logger: BackendLogger;
};

/** /api/devices and /api/activity (contracts, section 9). */
export async function registerDeviceRoutes(app: HttpServer, parts: DeviceRoutesParts): Promise<void> {
  app.get('/api/devices', listRoute, (request, reply) => listDevices(parts, request, reply));
  app.get('/api/devices/:id', getRoute, (request) => getDevice(parts, request));
  app.patch('/api/devices/:id', changeRoute, (request) => changeDevice(parts, request));
  app.delete('/api/devices/:id', removeRoute, (request) => remove(parts, request));
  app.get('/api/devices/:id/events', eventsRoute, (request, reply) => getEvents(parts, request, reply));
  app.get('/api/activity', activityRoute, (request, reply) => getActivity(parts, request, reply));
}

const Params = Type.Object({ id: Id });
const defaultLimit = 50;
const forGuests = { access: 'guest' } as const;
/** A guest has no history. */
const forLimited = { access: 'limited', heavy: 'answer' } as const;
const forAdmins = { access: { station: 'admin' } } as const;
const tags = ['devices'];

const listRoute = {
  config: { ...forGuests, heavy: 'answer' } as const,
  schema: { tags, querystring: PageQuery, response: { 200: Devices } },
};

async function listDevices(
  { reads }: DeviceRoutesParts,
  request: RequestOf<typeof listRoute>,
  reply: ReplyOf<typeof listRoute>,
) {
  const answer = await reads({
    kind: 'devices',
    after: readCursor(request.query.after),
    zones: zoneList(sightOf(request)),
  });
  return sendLarge({ request, reply }, answer, 'after');
}

/** @throws {StationError} `bad_request` */
function readCursor(cursor: string | undefined): { name: string; id: string } | null {
  if (cursor === undefined) return null;
  try {
    const [name, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    if (typeof name === 'string' && typeof id === 'string' && findUnstorable([name, id]) === null) return { name, id };
  } catch {
    // Told below.
  }
  throw new StationError('bad_request', '"after" must come from the previous page.');
}

const getRoute = { config: forGuests, schema: { tags, params: Params, response: { 200: Device } } };

async function getDevice(parts: DeviceRoutesParts, request: RequestOf<typeof getRoute>) {
  return toDevice(await find(parts, sightOf(request), request.params.id));
}

const changeRoute = {
  config: forAdmins,
  schema: { tags, params: Params, body: DevicePatch, response: { 200: Device } },
};

async function changeDevice(parts: DeviceRoutesParts, request: RequestOf<typeof changeRoute>) {
  const { devices, zones, events } = parts;
  const { id } = request.params;
  const { name, zoneId } = request.body;
  if (typeof zoneId === 'string' && !(await zones.has(zoneId))) {
    throw new RequestInvalidError([{ in: 'body', pointer: '/zoneId', message: 'is not the id of a zone' }]);
  }
  const patch = {
    ...(name === undefined ? {} : { name: name.trim() }),
    ...(zoneId === undefined ? {} : { zoneId }),
  };
  await devices.change(id, patch);
  const device = await find(parts, wholeStation, id);
  events.emit({ kind: 'changed', deviceId: id, externalId: device.external_id });
  return toDevice(device);
}

const removeRoute = { config: forAdmins, schema: { tags, params: Params, response: { 200: DeviceRemoval } } };

async function remove(parts: DeviceRoutesParts, request: RequestOf<typeof removeRoute>) {
  const device = await find(parts, wholeStation, request.params.id);
  const removal = await removeDevice(parts, device);
  if (removal === null) throw noSuchDevice();
  const { id: deviceId, name } = device;
  parts.stationEvents.note('device_removed', { deviceId, name }, { userId: userOf(request).userId });
  return removal;
}

const eventsRoute = {
  config: forLimited,
  schema: { tags, params: Params, querystring: EventsQuery, response: { 200: DeviceEvents } },
};

async function getEvents(
  parts: DeviceRoutesParts,
  request: RequestOf<typeof eventsRoute>,
  reply: ReplyOf<typeof eventsRoute>,
) {
  const { id: deviceId } = await find(parts, sightOf(request), request.params.id);
  const { before = null, limit = defaultLimit } = request.query;
  return sendLarge({ request, reply }, await parts.reads({ kind: 'events', deviceId, before, limit }), 'before');
}

const activityRoute = {
  config: forLimited,
  schema: { tags, querystring: ActivityQuery, response: { 200: DeviceEvents } },
};

async function getActivity(
  { reads }: DeviceRoutesParts,
  request: RequestOf<typeof activityRoute>,
  reply: ReplyOf<typeof activityRoute>,
) {
  const { before = null, limit = defaultLimit, about = null, deviceId = null, userId = null } = request.query;
  const { userId: readerId, role } = userOf(request);
  const query = {
    before,
    limit,
    about,
    deviceId,
    userId,
    reader: { userId: readerId, role },
    zones: zoneList(sightOf(request)),
  };
  return sendLarge({ request, reply }, await reads({ kind: 'activity', query }), 'before');
}

/** @throws (rejects) `not_found` */
async function find({ devices }: DeviceRoutesParts, sight: Sight, id: string): Promise<DeviceRow> {
  const device = await devices.findSeen(sight, id);
  if (device === null) throw noSuchDevice();
  return device;
}

const noSuchDevice = (): StationError => new StationError('not_found', 'There is no such device.');
