import { Type } from 'typebox';
import { StationError } from '@station/kit/station-error';
import { RequestInvalidError } from '@station/kit/validation';
import { Device } from '@station/protocol/devices';
import {
  AcceptUnknownDevice,
  UnknownDevice,
  UnknownDevices as UnknownDevicesBody,
} from '@station/protocol/unknown-devices';
import { PageQuery } from '@station/protocol/rest';
import { userOf } from '../http/access.ts';
import { pageOf } from '../http/pages.ts';
import type { HttpServer, ReplyOf, RequestOf } from '../http/server.ts';
import { type DeviceStore, toDevice } from '../store/device-store.ts';
import type { UnknownDevices } from './unknown-devices.ts';
import type { ZoneStore } from './zones.ts';

export type UnknownDeviceRoutesParts = {
  unknown: UnknownDevices;
  devices: Pick<DeviceStore, 'findById'>;
  zones: Pick<ZoneStore, 'has'>;
  /** Answers `ok` to the handshake that the device may still wait for. */
  answerHandshake: (externalId: string) => Promise<void>;
  /** Ends the connection of the device, so that it sends its handshake again. */
  reconnect: (externalId: string) => Promise<void>;
};

/** /api/unknown-devices (contracts, sections 8 and 9). */
export async function registerUnknownDeviceRoutes(app: HttpServer, parts: UnknownDeviceRoutesParts): Promise<void> {
  const { unknown } = parts;
  app.get('/api/unknown-devices', listRoute, async (request, reply) =>
    pageOf({ request, reply }, await unknown.list(), ({ externalId }) => externalId),
  );
  app.post('/api/unknown-devices/:externalId/accept', acceptRoute, (request, reply) => accept(parts, request, reply));
  app.post('/api/unknown-devices/:externalId/block', blockRoute, (request) => block(parts, request, true));
  app.delete('/api/unknown-devices/:externalId/block', blockRoute, (request) => block(parts, request, false));
  app.delete('/api/unknown-devices/:externalId', forgetRoute, async (request, reply) => {
    if (!(await unknown.forget(request.params.externalId))) throw noSuchDevice();
    return reply.code(204).send(null);
  });
}

const Params = Type.Object({ externalId: Type.String({ minLength: 1, maxLength: 64 }) });
const forAdmins = { access: { station: 'admin' } } as const;
const tags = ['devices'];

const listRoute = {
  config: forAdmins,
  schema: { tags, querystring: PageQuery, response: { 200: UnknownDevicesBody } },
};

const acceptRoute = {
  config: forAdmins,
  schema: {
    tags,
    description:
      '201: added, with the type of its handshake and the login that the broker has. 202: its type is not known; it is added with its next handshake. If only its login was seen (`loginRefused`), it may log in within 10 minutes with the token that it presented. 409: different tokens were presented for this id.',
    params: Params,
    body: AcceptUnknownDevice,
    response: { 201: Device, 202: UnknownDevice },
  },
};

async function accept(
  { unknown, devices, zones, answerHandshake, reconnect }: UnknownDeviceRoutesParts,
  request: RequestOf<typeof acceptRoute>,
  reply: ReplyOf<typeof acceptRoute>,
) {
  const { externalId } = request.params;
  const { name, zoneId = null } = request.body;
  if (zoneId !== null && !(await zones.has(zoneId))) {
    throw new RequestInvalidError([{ in: 'body', pointer: '/zoneId', message: 'is not the id of a zone' }]);
  }
  const accepted = await unknown.accept(externalId, { name: name.trim(), zoneId }, userOf(request).userId);
  switch (accepted.kind) {
    case 'not_found':
      throw noSuchDevice();
    case 'contested':
      throw new StationError(
        'conflict',
        'Different tokens were presented for this id, so it is not clear which device is meant. Delete it; it is listed again when it is seen.',
      );
    case 'trusted':
      // Without it the device is added when it connects again.
      await reconnect(externalId).catch(() => undefined);
      return reply.code(202).send(accepted.device);
    case 'added': {
      // Without this answer the device waits up to five minutes, until it repeats its handshake.
      await answerHandshake(externalId).catch(() => undefined);
      const device = await devices.findById(accepted.deviceId);
      if (device === null) throw noSuchDevice();
      return reply.code(201).send(toDevice(device));
    }
  }
}

const blockRoute = { config: forAdmins, schema: { tags, params: Params, response: { 200: UnknownDevice } } };

async function block({ unknown }: UnknownDeviceRoutesParts, request: RequestOf<typeof blockRoute>, isBlocked: boolean) {
  const device = await unknown.block(request.params.externalId, isBlocked);
  if (device === null) throw noSuchDevice();
  return device;
}

const forgetRoute = { config: forAdmins, schema: { tags, params: Params, response: { 204: Type.Null() } } };

const noSuchDevice = (): StationError => new StationError('not_found', 'There is no such device.');
