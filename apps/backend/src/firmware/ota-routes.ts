import { Type } from 'typebox';
import { FirmwareReady, firmwareFileName, OtaCheck, OtaCheckQuery, OtaDeviceTypes } from '@station/protocol/firmware';
import { StationError } from '@station/kit/station-error';
import { parseVersion } from '@station/protocol/version';
import type { DeviceStore } from '../store/device-store.ts';
import type { Firmware } from './firmware.ts';
import type { HttpServer } from '../http/server.ts';
import { RequestInvalidError } from '@station/kit/validation';

const tags = ['ota'];

/** /api/ota/*: what the agent hands over, and devices that ask by themselves (contracts, section 9). */
export async function registerOtaRoutes(
  app: HttpServer,
  { firmware, devices }: { firmware: Firmware; devices: Pick<DeviceStore, 'findById'> },
): Promise<void> {
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
      // By the name it found us under.
      const url = `${request.protocol}://${request.host}${pathOf(image)}`;
      return { update: true as const, version: image.version, url, checksum, size };
    },
  );
}

const fault = (pointer: string, message: string): RequestInvalidError =>
  new RequestInvalidError([{ in: 'body', pointer, message }]);
