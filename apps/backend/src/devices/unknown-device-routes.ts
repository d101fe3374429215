import { StationError } from '@station/kit/station-error';
import { RequestInvalidError } from '@station/kit/validation';
import { userOf } from '../http/access.ts';
import { pageOf } from '../http/pages.ts';
import { type ReplyOf, type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
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
  serve(app, 'GET /api/unknown-devices', async (request, reply) =>
    pageOf({ request, reply }, await unknown.list(), ({ externalId }) => externalId),
  );
  serve(app, 'POST /api/unknown-devices/:externalId/accept', (request, reply) => accept(parts, request, reply));
  serve(app, 'POST /api/unknown-devices/:externalId/block', (request) => block(parts, request, true));
  serve(app, 'DELETE /api/unknown-devices/:externalId/block', (request) => block(parts, request, false));
  serve(app, 'DELETE /api/unknown-devices/:externalId', async (request, reply) => {
    if (!(await unknown.forget(request.params.externalId))) throw noSuchDevice();
    return reply.code(204).send(null);
  });
}

async function accept(
  { unknown, devices, zones, answerHandshake, reconnect }: UnknownDeviceRoutesParts,
  request: RequestOf<'POST /api/unknown-devices/:externalId/accept'>,
  reply: ReplyOf<'POST /api/unknown-devices/:externalId/accept'>,
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

async function block(
  { unknown }: UnknownDeviceRoutesParts,
  request: RequestOf<'POST /api/unknown-devices/:externalId/block'>,
  isBlocked: boolean,
) {
  const device = await unknown.block(request.params.externalId, isBlocked);
  if (device === null) throw noSuchDevice();
  return device;
}

const noSuchDevice = (): StationError => new StationError('not_found', 'There is no such device.');
