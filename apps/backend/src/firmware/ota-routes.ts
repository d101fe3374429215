import { StationError } from '@station/kit/station-error';
import { RequestInvalidError } from '@station/kit/validation';
import {
  firmwareFileName,
  firmwareIdOf,
  firmwareNamesOf,
  type OtaCheck,
  type OtaDeviceTypes,
} from '@station/protocol/firmware';
import { normalizeChip } from '@station/protocol/firmware-image';
import { parseVersion } from '@station/protocol/version';
import { acceptsHandshakeType, type DeviceTypeRegistry } from '../core/type-registry.ts';
import { type ReplyOf, type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import type { DeviceStore } from '../store/device-store.ts';
import type { Firmware } from './firmware.ts';

type Parts = { firmware: Firmware; devices: Pick<DeviceStore, 'findById'>; types: DeviceTypeRegistry };

/** /api/ota (contracts, section 9): images and device types from the agent, requests and results from devices. */
export async function registerOtaRoutes(app: HttpServer, parts: Parts): Promise<void> {
  serve(app, 'GET /api/ota/device-types', () => listTypes(parts));
  serve(app, 'POST /api/ota/device-types', (request, reply) => announceTypes(parts, request, reply));
  serve(app, 'POST /api/ota/firmware-ready', (request, reply) => addImage(parts, request, reply));
  serve(app, 'GET /api/ota/check', (request) => checkForDevice(parts, request));
  serve(app, 'POST /api/ota/report', (request, reply) => addResult(parts, request, reply));
}

/** One entry for each type with a device and for each name of an image. */
async function listTypes({ firmware: { images } }: Parts): Promise<OtaDeviceTypes> {
  const all = await images.list();
  const installed = await images.installed();
  const names = new Set([...all.map(({ name }) => name), ...installed.map(({ type }) => type)]);
  return [...names].sort().map((name) => {
    const rows = installed.filter((row) => firmwareNamesOf(row).includes(name));
    // The newest of each name comes first.
    const newest = all.find((image) => image.name === name);
    return {
      type: name,
      installed: [...new Set(rows.map(({ version }) => version ?? ''))],
      cached: newest?.version ?? null,
      needsApproval: newest?.needs_approval === 1,
    };
  });
}

/** Takes the device types that the firmware manifest describes. */
async function announceTypes(
  { types }: Parts,
  request: RequestOf<'POST /api/ota/device-types'>,
  reply: ReplyOf<'POST /api/ota/device-types'>,
) {
  for (const description of request.body.types) await types.announce(description);
  return reply.code(204).send(null);
}

/** Adds an image that the agent has downloaded. */
async function addImage(
  { firmware: { images, rollouts } }: Parts,
  request: RequestOf<'POST /api/ota/firmware-ready'>,
  reply: ReplyOf<'POST /api/ota/firmware-ready'>,
) {
  const { name, version, file, path = null, checksum, size, chip, minVersion, needsApproval = false } = request.body;
  if (parseVersion(version)?.text !== version) throw fault('body', '/version', 'must be SemVer');
  if (file !== firmwareFileName(name, version)) throw fault('body', '/file', 'must be <name>@<version>.bin');
  const content = {
    file,
    path,
    checksum,
    size,
    chip: chip ?? null,
    min_version: minVersion ?? null,
    needs_approval: needsApproval ? 1 : null,
  };
  const image = await images.put({ name, version, ...content });
  if (image === null) throw new StationError('conflict', 'This version is known with another checksum.');
  await rollouts.offer(image);
  return reply.code(204).send(null);
}

/** A device asks whether there is an update for it. */
async function checkForDevice(parts: Parts, request: RequestOf<'GET /api/ota/check'>): Promise<OtaCheck> {
  const { rollouts, pathOf } = parts.firmware;
  const { device_id: claimed, device_type: reported, chip: named, current_version: current } = request.query;
  const version = current ?? request.query.version;
  if (version === undefined) throw fault('querystring', '/version', 'is missing');
  const { id, type, chip: recorded } = await findCaller(parts, request.deviceId, claimed);
  const chip = recorded ?? (named || null);
  const isOfChip = !named || chip === null || normalizeChip(named) === normalizeChip(chip);
  const isOfType = !reported || acceptsHandshakeType(parts.types, type, reported);
  const image = isOfChip && isOfType ? await rollouts.ask({ deviceId: id, type, version, chip }) : null;
  const isFirstForm = current === undefined;
  if (image === null) return { updateAvailable: false, ...(isFirstForm ? { update: false } : {}) };
  const { checksum, size } = image;
  // Uses the host name of the device's own request.
  const url = `${request.protocol}://${request.host}${pathOf(image)}`;
  return {
    updateAvailable: true,
    version: image.version,
    downloadUrl: url,
    firmwareId: firmwareIdOf(image.name, image.version),
    checksum,
    size,
    ...(isFirstForm ? { update: true, url } : {}),
  };
}

/** A device reports the result of an update. */
async function addResult(
  parts: Parts,
  request: RequestOf<'POST /api/ota/report'>,
  reply: ReplyOf<'POST /api/ota/report'>,
) {
  const { deviceId: claimed, firmwareId, status } = request.body;
  const { id: deviceId } = await findCaller(parts, request.deviceId, claimed);
  const [name = '', version = ''] = firmwareId.split('@');
  await parts.firmware.rollouts.report({ deviceId, name, version, status });
  return reply.code(204).send(null);
}

/** @throws StationError when the token belongs to another device than the claimed one. */
async function findCaller({ devices }: Parts, deviceId: string | null, claimed: string) {
  const device = await devices.findById(deviceId as string);
  if (device !== null && (claimed === device.external_id || claimed === device.id)) return device;
  throw new StationError('forbidden', 'The token belongs to another device.');
}

const fault = (where: 'body' | 'querystring', pointer: string, message: string): RequestInvalidError =>
  new RequestInvalidError([{ in: where, pointer, message }]);
