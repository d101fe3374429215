import { StationError } from '@station/kit/station-error';
import { RequestInvalidError } from '@station/kit/validation';
import {
  type Candidate,
  type DeviceLoginSheet,
  manualHandshakeWithinMs,
  type Provisioning,
  type ProvisioningView,
} from '@station/protocol/provisioning';
import { lookOf, looksLike } from '@station/protocol/ble-names';
import { AgentSettings, maxAnswerBytes } from '@station/protocol/rest';
import { isExternalId } from '@station/protocol/topics';
import { userOf } from '../http/access.ts';
import { fitting } from '../http/pages.ts';
import { type ReplyOf, type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import type { ProvisioningRow } from './provisioning-ends.ts';
import type { Provisionings } from './provisioning-service.ts';
import { type NewProvisioning, type ProvisioningStore, toProvisioning } from './provisioning-store.ts';
import type { Radio } from './radio.ts';
import type { WriteParts } from './radio-writes.ts';
import { type SettingsStore, wifiSetting } from './settings-store.ts';
import type { CheckWifiPassword } from './wifi-password.ts';

export type ProvisioningRoutesParts = Pick<WriteParts, 'stationId' | 'brokerAddress'> & {
  store: ProvisioningStore;
  provisionings: Provisionings;
  radio: Pick<Radio, 'report' | 'candidates'>;
  settings: Pick<SettingsStore, 'readSecret'>;
  checkPassword: CheckWifiPassword;
  hasZone: (id: string) => Promise<boolean>;
};

/** /api/provisioning: devices are added over radio, or with a login that a person enters (contracts, sections 9 to 11). */
export async function registerProvisioningRoutes(app: HttpServer, parts: ProvisioningRoutesParts): Promise<void> {
  serve(app, 'GET /api/provisioning', () => view(parts));
  for (const route of ['POST /provisioning/add', 'POST /api/provisioning/add'] as const) {
    serve(app, route, async (request, reply) => add(parts, request, reply));
  }
  serve(app, 'POST /api/provisioning/manual', async (request, reply) => addManually(parts, request, reply));
  serve(app, 'DELETE /api/provisioning/:id', (request) => cancel(parts, request));
  serve(app, 'POST /api/provisioning/:id/login', (request) => makeLogin(parts, request));
}

/** IEEE 802.11, section 9.4.2.2. */
const maxSsidBytes = 32;
/** The messages at /ws tell of all of them. */
const maxCandidates = 200;
/** For the list of provisionings; candidates get what is left of the answer. */
const provisioningBytes = 128 * 1024;
/** For radio, Wi-Fi and broker. */
const restBytes = 2 * 1024;

const readWifi = ({ settings }: ProvisioningRoutesParts) =>
  settings.readSecret(wifiSetting, AgentSettings.properties.wifi);

async function view(parts: ProvisioningRoutesParts): Promise<ProvisioningView> {
  const { store, radio, brokerAddress } = parts;
  const wifi = await readWifi(parts);
  const provisionings = fitting((await store.list()).map(toProvisioning), maxAnswerBytes - provisioningBytes);
  const usedBytes = Buffer.byteLength(JSON.stringify(provisionings)) + restBytes;
  return {
    radio: radio.report(),
    candidates: fitting(radio.candidates().slice(0, maxCandidates), usedBytes),
    provisionings,
    wifi: wifi && { ssid: wifi.ssid, isOpen: wifi.password === '' },
    broker: await brokerAddress(wifi?.ssid ?? null),
  };
}

async function add(
  parts: ProvisioningRoutesParts,
  request: RequestOf<'POST /api/provisioning/add'>,
  reply: ReplyOf<'POST /api/provisioning/add'>,
) {
  const { store, radio, provisionings } = parts;
  const { externalId, name, zoneId, wifi: given } = request.body;
  await checkZone(parts, zoneId, '/zoneId');
  if (given !== undefined && Buffer.byteLength(given.ssid) > maxSsidBytes) {
    throw invalid('/wifi/ssid', `must have at most ${maxSsidBytes} bytes in UTF-8`);
  }
  if (given !== undefined) await parts.checkPassword(given);
  if (radio.report().state === 'unavailable') throw new StationError('unavailable', 'The radio is not available.');
  const candidate = chosen(radio.candidates(), request.body);
  const wifi = given ?? (await readWifi(parts));
  if (wifi === null) {
    throw new StationError('no_wifi_credentials', 'The agent has forwarded no network. Send its name and password.');
  }
  const rows = await store.create([
    {
      externalId,
      deviceType: candidate.deviceType,
      address: candidate.address,
      zoneId,
      status: 'queued',
      name: name?.trim() ?? null,
      defaultName: candidate.defaultName || externalId,
      method: candidate.protocol === 'improv' ? 'improv' : 'ble',
      withinMs: null,
      startedBy: userOf(request).userId,
      secrets: { wifi: { ssid: wifi.ssid, password: wifi.password } },
    },
  ]);
  const row = rows?.[0];
  if (rows === null || row === undefined) throw beingAdded();
  provisionings.begun(rows);
  return reply.code(202).send({ provisioningId: row.id, status: row.status });
}

/** Anybody can advertise an id, and one that looks like it: of several candidates nobody but a person knows which is theirs. */
function chosen(
  candidates: readonly Candidate[],
  { externalId, address }: { externalId: string; address?: string },
): Candidate {
  const look = lookOf(externalId);
  const candidate = candidates.find((one) => one.externalId === externalId && one.address === (address ?? one.address));
  if (candidate === undefined) throw new StationError('not_found', 'No device with this id is in range.');
  const alike = candidates.filter((one) => looksLike(lookOf(one.externalId), look));
  if (address !== undefined || alike.length === 1) return candidate;
  throw new StationError(
    'candidate_ambiguous',
    'Several devices say that they have this id, or one that looks like it. Choose one by its address and signal, and send its address.',
  );
}

async function addManually(
  parts: ProvisioningRoutesParts,
  request: RequestOf<'POST /api/provisioning/manual'>,
  reply: ReplyOf<'POST /api/provisioning/manual'>,
) {
  const { store, provisionings } = parts;
  const { devices } = request.body;
  const seen = new Set<string>();
  for (const [index, { externalId, zoneId }] of devices.entries()) {
    const pointer = `/devices/${index}/externalId`;
    if (!isExternalId(externalId)) throw invalid(pointer, 'must not contain /, + or #');
    if (seen.has(externalId)) throw invalid(pointer, 'must not occur twice');
    seen.add(externalId);
    await checkZone(parts, zoneId, `/devices/${index}/zoneId`);
  }
  const { userId: startedBy } = userOf(request);
  const rows = await store.create(
    devices.map(({ externalId, type, name, zoneId }): NewProvisioning => {
      const fixed = { method: 'manual', status: 'waiting', address: null, secrets: {} } as const;
      const named = { name: name?.trim() ?? null, defaultName: externalId };
      return { ...fixed, ...named, externalId, deviceType: type, zoneId, withinMs: manualHandshakeWithinMs, startedBy };
    }),
  );
  if (rows === null) throw beingAdded();
  provisionings.begun(rows);
  const sheets = await makeSheets(parts, rows);
  const answer = rows.map((row, index) => ({ provisioning: toProvisioning(row), login: sheets[index]! }));
  return reply.code(201).send(answer);
}

async function cancel(
  { store, provisionings }: ProvisioningRoutesParts,
  request: RequestOf<'DELETE /api/provisioning/:id'>,
): Promise<Provisioning> {
  const row = await findRow(store, request.params.id);
  if (!(await provisionings.cancel(row))) throw new StationError('conflict', 'It has ended.');
  return toProvisioning(await findRow(store, row.id));
}

async function makeLogin(
  parts: ProvisioningRoutesParts,
  request: RequestOf<'POST /api/provisioning/:id/login'>,
): Promise<DeviceLoginSheet> {
  const row = await findRow(parts.store, request.params.id);
  if (row.method !== 'improv' || row.status !== 'waiting') {
    throw new StationError('conflict', 'Only an Improv device that waits for its login can get one.');
  }
  const [sheet] = await makeSheets(parts, [row]);
  return sheet!;
}

async function makeSheets(
  parts: ProvisioningRoutesParts,
  rows: readonly ProvisioningRow[],
): Promise<DeviceLoginSheet[]> {
  const { provisionings, stationId, brokerAddress } = parts;
  const { host, port } = await brokerAddress((await readWifi(parts))?.ssid ?? null);
  const tokens = await provisionings.makeLogins(rows);
  if (tokens === null) throw new StationError('unavailable', 'The broker does not take the logins. Try again later.');
  return rows.map(({ external_id: device_id }, index) => ({
    device_id,
    device_token: tokens[index]!,
    station_id: stationId,
    mqtt_host: host,
    mqtt_port: port,
  }));
}

async function findRow(store: ProvisioningStore, id: string): Promise<ProvisioningRow> {
  const row = await store.find(id);
  if (row === null) throw new StationError('not_found', 'There is no such provisioning.');
  return row;
}

async function checkZone(
  { hasZone }: ProvisioningRoutesParts,
  zoneId: string | null | undefined,
  pointer: string,
): Promise<void> {
  if (zoneId != null && !(await hasZone(zoneId))) throw invalid(pointer, 'is not the id of a zone');
}

const invalid = (pointer: string, message: string) => new RequestInvalidError([{ in: 'body', pointer, message }]);
const beingAdded = (): StationError => new StationError('conflict', 'This device is being added.');
