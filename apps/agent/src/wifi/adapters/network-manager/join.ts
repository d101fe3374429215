import type { JoinFailure } from '@station/protocol/agent-network';
import { randomUUID } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { isFree, likelySecurity, type Security } from '@station/protocol/wifi-password';
import { type SsidHex, ssidToBytes, type JoinRequest } from '../../../core/wifi-network.ts';
import type { Credentials, JoinOutcome } from '../../wifi-ports.ts';
import { watchActivation } from './activation.ts';
import { type Bus, BusError } from '@station/kit/message-bus';
import { classifyTimeout, describeEvidence } from './classify.ts';
import type { Client } from './client.ts';
import { interfaces, ipOf, noObject, propertiesOf, text, type WifiDevice, wifiDeviceOf } from './objects.ts';
import { inMemory, isCandidate, networkSettings, type NetworkSettings, type Profile } from './profiles.ts';
import { type AccessPoint, accessPointsOf, scanNow } from './scan.ts';
import type { Supplicant } from './supplicant.ts';

export type JoinParts = {
  bus: Bus;
  client: Client;
  supplicant: Supplicant;
  clock: Clock;
  interfaceName: string | null;
  /** Channels (MHz) on which scans have found a network. */
  frequenciesOf: (ssid: SsidHex) => readonly number[];
  scanMs: number;
  /** How long to scan for a network that is not in the list, within `joinMs`. */
  findMs: number;
  joinMs: number;
  /** How long a handshake that began again may take. */
  handshakeMs: number;
};

type Failed = { kind: 'failed'; failure: JoinFailure; detail: string };
type Found = { wifi: WifiDevice; point: AccessPoint | null };
const failed = (failure: JoinFailure, detail: string): Failed => ({ kind: 'failed', failure, detail });

/** `Radio.join`. Never throws; on anything but `joined` no candidate is left. */
export async function join(parts: JoinParts, request: JoinRequest, signal: AbortSignal): Promise<JoinOutcome> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(parts.joinMs)]);
  try {
    const found = await find(parts, request, limit);
    if (!found) return failed('failed', 'no Wi-Fi device');
    if (!found.point && !request.isHidden) return failed('not_found', 'not met by a scan just before');
    const security = found.point?.security ?? request.security ?? likelySecurity(request.password);
    const isMixed = security === 'wpa2-wpa3';
    const first = await attempt(parts, request, found, { security, isPskOnly: false }, limit);
    // SAE in transition mode fails on some radios where WPA2 works. A rejected password is not retried.
    const isWorthAnother = isMixed && first.kind === 'failed' && retried.includes(first.failure) && !limit.aborted;
    if (!isWorthAnother) return first;
    const second = await attempt(parts, request, found, { security, isPskOnly: true }, limit);
    return second.kind === 'joined'
      ? second
      : { ...second, detail: `${first.detail}; again without SAE: ${second.detail}` };
  } catch (error) {
    return failed('failed', error instanceof BusError ? error.message : 'unexpected');
  }
}

const retried: readonly JoinFailure[] = ['timed_out', 'refused', 'unsupported'];

/**
 * The strongest access point of that name and, if chosen, security. If it is not in the list, it is scanned for: the first
 * scans after a hotspot may have been running already, without its name.
 */
async function find(parts: JoinParts, request: JoinRequest, signal: AbortSignal): Promise<Found | null> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(parts.findMs)]);
  await lookWhereItMayBe(parts, request);
  for (;;) {
    const tree = await parts.client.readTree();
    const wifi = wifiDeviceOf(tree, parts.interfaceName);
    if (!wifi) return null;
    const named = accessPointsOf(tree, wifi).filter(({ ssid }) => ssid === request.ssid);
    const point = named.find(({ security }) => security === request.security) ?? named.find(isMeant(request)) ?? null;
    if (point || limit.aborted) return { wifi, point };
    await scanNow({ ...parts, limitMs: parts.scanMs }, [request.ssid], limit);
  }
}

/** With a password an open network of the same name is never used: anyone could have set it up. */
const isMeant =
  ({ password }: JoinRequest) =>
  ({ security }: AccessPoint): boolean =>
    password === null || !isFree(security);

/**
 * Scans the channels where it was seen, else, for a hidden one, those of 2.4 GHz, which nearly every router uses. wpa_supplicant joins
 * a network at once if it saw it some seconds ago; otherwise it scans every channel first.
 */
async function lookWhereItMayBe(parts: JoinParts, { ssid, isHidden }: JoinRequest): Promise<void> {
  const wifi = wifiDeviceOf(await parts.client.readTree(), parts.interfaceName);
  if (!wifi) return;
  const met = parts.frequenciesOf(ssid);
  const frequencies = met.length === 0 && isHidden ? channelsOf2Gigahertz : met;
  const name = text(wifi.device['Interface']);
  if (frequencies.length > 0) await parts.supplicant.scanFor(name, ssidToBytes(ssid), frequencies);
  else await parts.supplicant.stopScan(name);
}

/** Channels 1 to 13, MHz. */
const channelsOf2Gigahertz: readonly number[] = Array.from({ length: 13 }, (_, channel) => 2412 + 5 * channel);

async function attempt(
  parts: JoinParts,
  request: JoinRequest,
  { wifi, point }: Found,
  how: { security: Security; isPskOnly: boolean },
  signal: AbortSignal,
): Promise<JoinOutcome> {
  const { security } = how;
  if (security === 'wep' || security === 'enterprise') return failed('unsupported', security);
  if (!isFree(security) && (request.password ?? '') === '') return failed('wrong_password', 'no password');
  const { bus, client, supplicant, handshakeMs } = parts;
  const settings: NetworkSettings = { ...request, security, isPskOnly: how.isPskOnly, uuid: randomUUID() };
  const supplicantPath = await supplicant.pathOf(text(wifi.device['Interface']));
  const context = { security: how.isPskOnly ? ('wpa2' as const) : security, wasSeen: point !== null };
  using watch = watchActivation(bus, { devicePath: wifi.path, supplicantPath, context, handshakeMs });
  let profilePath: string;
  try {
    profilePath = await client.addAndActivate(
      networkSettings(settings),
      wifi.path,
      point?.path ?? noObject,
      inMemory(),
    );
  } catch (error) {
    await removeCandidates(client, ({ uuid }) => uuid === settings.uuid);
    return refusedSettings(error);
  }
  const verdict = await watch.ended(signal);
  if (verdict?.kind === 'activated') {
    const ip = await addressOf(parts, settings.uuid);
    if (ip !== null) return { kind: 'joined', candidateId: settings.uuid, ip };
  }
  // Its removal ends the activation too.
  await client.remove(profilePath).catch(() => undefined);
  const detail = describeEvidence(watch.evidence());
  switch (verdict?.kind) {
    case 'unsettled':
      return signal.aborted ? failed('timed_out', detail) : await attempt(parts, request, { wifi, point }, how, signal);
    case 'failed':
      return failed(verdict.failure, detail);
    case 'activated':
      return failed('no_address', `time is over: ${detail}`);
    case undefined:
      return failed(classifyTimeout(context, watch.evidence()), `time is over: ${detail}`);
  }
}

/** NetworkManager's refusal of a profile. Only the error's name is used: its text may contain values. */
function refusedSettings(error: unknown): Failed {
  const name = error instanceof BusError ? error.errorName : '';
  const detail = `profile refused: ${name}`;
  if (name.endsWith('.InvalidProperty') || name.endsWith('.MissingProperty')) return failed('wrong_password', detail);
  if (name.endsWith('.IncompatibleConnection') || name.endsWith('.InvalidSetting'))
    return failed('unsupported', detail);
  return failed('failed', detail);
}

/** The current address; with a profile's uuid only if that profile is in use. */
export async function addressOf({ client, interfaceName }: JoinParts, uuid?: string): Promise<string | null> {
  const tree = await client.readTree().catch(() => null);
  const wifi = tree && wifiDeviceOf(tree, interfaceName);
  if (!wifi) return null;
  const active = propertiesOf(tree, wifi.device['ActiveConnection'], interfaces.active);
  if (uuid !== undefined && active?.['Uuid'] !== uuid) return null;
  return ipOf(tree, wifi.device)?.ip ?? null;
}

/** Removes candidates: profiles of ours that live in memory only. */
export async function removeCandidates(client: Client, isMeant: (profile: Profile) => boolean): Promise<void> {
  const profiles = await client
    .readTree()
    .then(client.readProfiles)
    .catch(() => []);
  for (const profile of profiles)
    if (isCandidate(profile) && isMeant(profile)) await client.remove(profile.path).catch(() => undefined);
}

/** `Radio.credentialsOf`. */
export async function credentialsOf(
  { client, interfaceName }: Pick<JoinParts, 'client' | 'interfaceName'>,
  candidateId: string,
): Promise<Credentials | null> {
  try {
    const tree = await client.readTree();
    const candidate = (await client.readProfiles(tree)).find(
      ({ uuid, mark }) => uuid === candidateId && mark === 'network',
    );
    if (!candidate) return null;
    const { ssid, path, keyManagement } = candidate;
    const wifi = wifiDeviceOf(tree, interfaceName);
    const password = keyManagement === null ? null : await client.passwordOf(path);
    const points = wifi ? accessPointsOf(tree, wifi) : [];
    const point = points.find((each) => each.ssid === ssid && isFree(each.security) === (password === null));
    return { ssid, password, security: point?.security ?? null };
  } catch (error) {
    if (error instanceof BusError) return null;
    throw error;
  }
}

/** `Radio.keepCandidate`: writes it to disk, then removes our older profiles, never those of people. It counts as known even if the write fails. */
export async function keepCandidate(client: Client, candidateId: string): Promise<boolean> {
  try {
    const profiles = await client.readProfiles(await client.readTree());
    const candidate = profiles.find(({ uuid, mark }) => uuid === candidateId && mark === 'network');
    if (!candidate) return false;
    client.noteSettled(candidateId);
    await client.save(candidate.path);
    const older = profiles.filter(
      ({ mark, ssid, path }) => mark === 'network' && ssid === candidate.ssid && path !== candidate.path,
    );
    for (const { path } of older) await client.remove(path).catch(() => undefined);
    return true;
  } catch (error) {
    if (error instanceof BusError) return false;
    throw error;
  }
}
