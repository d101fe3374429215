import { Type } from 'typebox';
import {
  Device,
  DeviceEvents,
  DevicePatch,
  Devices,
  EventsQuery,
  History,
  HistoryQuery,
  type DeviceEvent as EventBody,
} from '@station/protocol/devices';
import { Id } from '@station/protocol/rest';
import { isoTime, type Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { ActivityRow, ActivityStore } from './activity-store.ts';
import type { DeviceEvents as DeviceHub } from '../core/device-events.ts';
import { type DeviceRow, type DeviceStore, toDevice } from '../store/device-store.ts';
import type { HistoryStore } from './history-store.ts';
import type { ZoneStore } from './zones.ts';
import type { HttpServer } from '../http/server.ts';
import { RequestInvalidError } from '@station/kit/validation';

const Params = Type.Object({ id: Id });
const defaultLimit = 50;

export type DeviceRoutesParts = {
  devices: DeviceStore;
  zones: ZoneStore;
  activity: ActivityStore;
  history: HistoryStore;
  /** Receives an event for each device that is changed or removed here. */
  events: DeviceHub;
  clock: Clock;
};

/** /api/devices and /api/activity (contracts, section 9). */
export async function registerDeviceRoutes(app: HttpServer, parts: DeviceRoutesParts): Promise<void> {
  const { devices, zones, activity, history, events, clock } = parts;
  const find = async (id: string): Promise<DeviceRow> => {
    const device = await devices.findById(id);
    if (device === null) throw noSuchDevice();
    return device;
  };
  const forUsers = { access: 'user' } as const;
  const forAdmins = { access: { station: 'admin' } } as const;
  const tags = ['devices'];

  app.get('/api/devices', { config: forUsers, schema: { tags, response: { 200: Devices } } }, async () =>
    (await devices.list()).map(toDevice),
  );

  app.get(
    '/api/devices/:id',
    { config: forUsers, schema: { tags, params: Params, response: { 200: Device } } },
    async (request) => toDevice(await find(request.params.id)),
  );

  app.patch(
    '/api/devices/:id',
    { config: forAdmins, schema: { tags, params: Params, body: DevicePatch, response: { 200: Device } } },
    async (request) => {
      const { name, zoneId } = request.body;
      if (typeof zoneId === 'string' && !(await zones.has(zoneId))) {
        throw new RequestInvalidError([{ in: 'body', pointer: '/zoneId', message: 'is not the id of a zone' }]);
      }
      const patch = {
        ...(name === undefined ? {} : { name: name.trim() }),
        ...(zoneId === undefined ? {} : { zoneId }),
      };
      const { id } = request.params;
      await devices.change(id, patch);
      const device = await find(id);
      events.emit({ kind: 'changed', deviceId: id, externalId: device.external_id });
      return toDevice(device);
    },
  );

  app.delete(
    '/api/devices/:id',
    { config: forAdmins, schema: { tags, params: Params, response: { 204: Type.Null() } } },
    async (request, reply) => {
      const { id, external_id: externalId } = await find(request.params.id);
      if (!(await devices.remove(id))) throw noSuchDevice();
      events.emit({ kind: 'removed', deviceId: id, externalId });
      return reply.code(204).send(null);
    },
  );

  app.get(
    '/api/devices/:id/events',
    { config: forUsers, schema: { tags, params: Params, querystring: EventsQuery, response: { 200: DeviceEvents } } },
    async (request) => {
      const { id: deviceId } = await find(request.params.id);
      const { before = null, limit = defaultLimit } = request.query;
      return (await activity.page({ deviceId, before, limit })).map(toEvent);
    },
  );

  app.get(
    '/api/activity',
    { config: forUsers, schema: { tags, querystring: EventsQuery, response: { 200: DeviceEvents } } },
    async (request) => {
      const { before = null, limit = defaultLimit } = request.query;
      return (await activity.page({ deviceId: null, before, limit })).map(toEvent);
    },
  );

  app.get(
    '/api/devices/:id/history',
    { config: forUsers, schema: { tags, params: Params, querystring: HistoryQuery, response: { 200: History } } },
    async (request) => {
      const { capability, from, to } = request.query;
      const [fromMs, toMs] = [Date.parse(from), to === undefined ? clock.now() : Date.parse(to)];
      if (!(fromMs < toMs))
        throw new StationError('bad_request', '"from" and "to" must be times, and "from" must be earlier.');
      const { id: deviceId } = await find(request.params.id);
      const points = await history.read({ deviceId, capability, fromMs, toMs });
      return points.map(({ at, ...values }) => ({ at: isoTime(at), ...values }));
    },
  );
}

const noSuchDevice = (): StationError => new StationError('not_found', 'There is no such device.');

const toEvent = ({ id, device_id, kind, data, at }: ActivityRow): EventBody => ({
  id,
  deviceId: device_id,
  kind,
  data: JSON.parse(data) as Record<string, unknown>,
  at: isoTime(at),
});
