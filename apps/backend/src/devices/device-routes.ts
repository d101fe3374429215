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
import { type ReplyOf, type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
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
  serve(app, 'GET /api/devices', (request, reply) => listDevices(parts, request, reply));
  serve(app, 'GET /api/devices/:id', (request) => getDevice(parts, request));
  serve(app, 'PATCH /api/devices/:id', (request) => changeDevice(parts, request));
  serve(app, 'DELETE /api/devices/:id', (request) => remove(parts, request));
  serve(app, 'GET /api/devices/:id/events', (request, reply) => getEvents(parts, request, reply));
  serve(app, 'GET /api/activity', (request, reply) => getActivity(parts, request, reply));
}
const defaultLimit = 50;

async function listDevices(
  { reads }: DeviceRoutesParts,
  request: RequestOf<'GET /api/devices'>,
  reply: ReplyOf<'GET /api/devices'>,
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

async function getDevice(parts: DeviceRoutesParts, request: RequestOf<'GET /api/devices/:id'>) {
  return toDevice(await find(parts, sightOf(request), request.params.id));
}

async function changeDevice(parts: DeviceRoutesParts, request: RequestOf<'PATCH /api/devices/:id'>) {
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

async function remove(parts: DeviceRoutesParts, request: RequestOf<'DELETE /api/devices/:id'>) {
  const device = await find(parts, wholeStation, request.params.id);
  const removal = await removeDevice(parts, device);
  if (removal === null) throw noSuchDevice();
  const { id: deviceId, name } = device;
  parts.stationEvents.note('device_removed', { deviceId, name }, { userId: userOf(request).userId });
  return removal;
}

async function getEvents(
  parts: DeviceRoutesParts,
  request: RequestOf<'GET /api/devices/:id/events'>,
  reply: ReplyOf<'GET /api/devices/:id/events'>,
) {
  const { id: deviceId } = await find(parts, sightOf(request), request.params.id);
  const { before = null, limit = defaultLimit } = request.query;
  return sendLarge({ request, reply }, await parts.reads({ kind: 'events', deviceId, before, limit }), 'before');
}

async function getActivity(
  { reads }: DeviceRoutesParts,
  request: RequestOf<'GET /api/activity'>,
  reply: ReplyOf<'GET /api/activity'>,
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
