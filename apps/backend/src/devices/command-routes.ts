import { commonActions } from '@station/protocol/common-commands';
import { type StationDeviceType } from '@station/protocol/device-types';
import { isManager } from '@station/protocol/roles';
import { StationError } from '@station/kit/station-error';
import type { CommandChange } from '../core/device-events.ts';
import type { Sight } from '../core/sight.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { sightOf, userOf } from '../http/access.ts';
import { pageOf } from '../http/pages.ts';
import { type ReplyOf, type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import { RequestInvalidError } from '@station/kit/validation';
import { type CommandResult, type Commands, maxCommandBytes } from '../core/commands.ts';
import { announcedBody, type DeviceTypes } from '../core/type-registry.ts';

export type CommandRoutesParts = {
  devices: Pick<DeviceStore, 'findSeen' | 'seen'>;
  types: DeviceTypes;
  commands: Pick<Commands, 'send'>;
};

/** POST /api/devices/:id/command and GET /api/device-types (contracts, section 9). */
export async function registerDeviceCommandRoutes(app: HttpServer, parts: CommandRoutesParts): Promise<void> {
  serve(app, 'GET /api/device-types', async (request, reply) => {
    const types: StationDeviceType[] = [...parts.types.list(), ...(await announcedTo(parts, sightOf(request)))];
    return pageOf({ request, reply }, types, ({ type, deviceIds }) => `${type} ${deviceIds?.[0] ?? ''}`);
  });
  serve(app, 'POST /api/devices/:id/command', (request, reply) => sendCommand(parts, request, reply));
}

/** What the devices that somebody sees say about themselves. */
async function announcedTo({ devices, types }: CommandRoutesParts, sight: Sight): Promise<StationDeviceType[]> {
  const announced = types.announced().map(announcedBody);
  if (sight.zones === null || announced.length === 0) return announced;
  const seen = await devices.seen(sight);
  return announced.flatMap((one) => {
    const deviceIds = one.deviceIds?.filter((id) => seen.has(id)) ?? [];
    return deviceIds.length === 0 ? [] : [{ ...one, deviceIds }];
  });
}

async function sendCommand(
  { devices, commands }: CommandRoutesParts,
  request: RequestOf<'POST /api/devices/:id/command'>,
  reply: ReplyOf<'POST /api/devices/:id/command'>,
) {
  const { userId, role } = userOf(request);
  const { action, params = {} } = request.body;
  const deviceId = request.params.id;
  const device = await devices.findSeen(sightOf(request), deviceId);
  if (device === null) throw noSuchDevice();
  if (!isManager(role) && isBuiltIn(action)) {
    throw new StationError('forbidden', 'Only the owner and admins may restart, reset or reconfigure a device.');
  }
  if (device.status === 'offline') throw new StationError('device_offline', 'The device is offline.');
  return reply.code(202).send(acceptedOf(await commands.send({ deviceId, action, params, userId })));
}

const isBuiltIn = (action: string): boolean => commonActions.includes(action);

const tooLarge = (bytes: number): string =>
  `The command has ${bytes} bytes with its topic; a device can receive ${maxCommandBytes}. Shorten its parameters.`;

const noSuchDevice = (): StationError => new StationError('not_found', 'There is no such device.');

function acceptedOf(result: CommandResult): CommandChange {
  switch (result.kind) {
    case 'accepted':
      return result.command;
    case 'unknown_device':
      throw noSuchDevice();
    case 'unknown_action':
      throw new RequestInvalidError([
        { in: 'body', pointer: '/action', message: `must be one of: ${result.known.join(', ')}` },
      ]);
    case 'bad_params':
      throw new RequestInvalidError(
        result.faults.map(({ pointer, message }) => ({ in: 'body', pointer: `/params${pointer}`, message })),
      );
    case 'too_large':
      throw new StationError('command_too_large', tooLarge(result.bytes));
  }
}
