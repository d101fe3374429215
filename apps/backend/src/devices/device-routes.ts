import { Type } from 'typebox';
import {
  Device,
  DeviceEvents,
  DevicePatch,
  DeviceRemoval,
  Devices,
  EventsQuery,
  History,
  HistoryQuery,
  type DeviceEvent as EventBody,
} from '@station/protocol/devices';
import { Id } from '@station/protocol/rest';
import { isoTime, type Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';
import type { ActivityRow, ActivityStore } from './activity-store.ts';
import type { PublishCommand } from '../core/commands.ts';
import type { DeviceEvents as DeviceHub } from '../core/device-events.ts';
import { type DeviceRow, type DeviceStore, toDevice } from '../store/device-store.ts';
import type { HistoryStore } from './history-store.ts';
import type { ZoneStore } from './zones.ts';
import { removeDevice } from './removed-devices.ts';
import type { HttpServer, RequestOf } from '../http/server.ts';
import { RequestInvalidError } from '@station/kit/validation';

export type DeviceRoutesParts = {
  devices: DeviceStore;
  zones: ZoneStore;
  activity: ActivityStore;
  history: HistoryStore;
  /** Receives an event for each device that is changed or removed here. */
  events: DeviceHub;
  /** Sends a removed device its last command. */
  publish: PublishCommand;
  clock: Clock;
  logger: BackendLogger;
};

/** /api/devices and /api/activity (contracts, section 9). */
export async function registerDeviceRoutes(app: HttpServer, parts: DeviceRoutesParts): Promise<void> {
  app.get('/api/devices', listRoute, () => listDevices(parts));
  app.get('/api/devices/:id', getRoute, (request) => getDevice(parts, request));
  app.patch('/api/devices/:id', changeRoute, (request) => changeDevice(parts, request));
  app.delete('/api/devices/:id', removeRoute, (request) => remove(parts, request));
  app.get('/api/devices/:id/events', eventsRoute, (request) => getEvents(parts, request));
  app.get('/api/devices/:id/history', historyRoute, (request) => getHistory(parts, request));
  app.get('/api/activity', activityRoute, (request) => getActivity(parts, request));
}

const Params = Type.Object({ id: Id });
const defaultLimit = 50;
const forUsers = { access: 'user' } as const;
const forAdmins = { access: { station: 'admin' } } as const;
const tags = ['devices'];

const listRoute = { config: forUsers, schema: { tags, response: { 200: Devices } } };

async function listDevices({ devices }: DeviceRoutesParts) {
  return (await devices.list()).map(toDevice);
}

const getRoute = { config: forUsers, schema: { tags, params: Params, response: { 200: Device } } };

async function getDevice(parts: DeviceRoutesParts, request: RequestOf<typeof getRoute>) {
  return toDevice(await find(parts, request.params.id));
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
  const device = await find(parts, id);
  events.emit({ kind: 'changed', deviceId: id, externalId: device.external_id });
  return toDevice(device);
}

const removeRoute = { config: forAdmins, schema: { tags, params: Params, response: { 200: DeviceRemoval } } };

async function remove(parts: DeviceRoutesParts, request: RequestOf<typeof removeRoute>) {
  const removal = await removeDevice(parts, await find(parts, request.params.id));
  if (removal === null) throw noSuchDevice();
  return removal;
}

const eventsRoute = {
  config: forUsers,
  schema: { tags, params: Params, querystring: EventsQuery, response: { 200: DeviceEvents } },
};

async function getEvents(parts: DeviceRoutesParts, request: RequestOf<typeof eventsRoute>) {
  const { id: deviceId } = await find(parts, request.params.id);
  const { before = null, limit = defaultLimit } = request.query;
  return (await parts.activity.page({ deviceId, before, limit })).map(toEvent);
}

const activityRoute = { config: forUsers, schema: { tags, querystring: EventsQuery, response: { 200: DeviceEvents } } };

async function getActivity({ activity }: DeviceRoutesParts, request: RequestOf<typeof activityRoute>) {
  const { before = null, limit = defaultLimit } = request.query;
  return (await activity.page({ deviceId: null, before, limit })).map(toEvent);
}

const historyRoute = {
  config: forUsers,
  schema: { tags, params: Params, querystring: HistoryQuery, response: { 200: History } },
};

async function getHistory(parts: DeviceRoutesParts, request: RequestOf<typeof historyRoute>) {
  const { capability, from, to } = request.query;
  const [fromMs, toMs] = [Date.parse(from), to === undefined ? parts.clock.now() : Date.parse(to)];
  if (!(fromMs < toMs))
    throw new StationError('bad_request', '"from" and "to" must be times, and "from" must be earlier.');
  const { id: deviceId } = await find(parts, request.params.id);
  const points = await parts.history.read({ deviceId, capability, fromMs, toMs });
  return points.map(({ at, ...values }) => ({ at: isoTime(at), ...values }));
}

/** @throws (rejects) `not_found` */
async function find({ devices }: DeviceRoutesParts, id: string): Promise<DeviceRow> {
  const device = await devices.findById(id);
  if (device === null) throw noSuchDevice();
  return device;
}

const noSuchDevice = (): StationError => new StationError('not_found', 'There is no such device.');

const toEvent = ({ id, device_id, kind, data, at }: ActivityRow): EventBody => ({
  id,
  deviceId: device_id,
  kind,
  data: JSON.parse(data) as Record<string, unknown>,
  at: isoTime(at),
});
