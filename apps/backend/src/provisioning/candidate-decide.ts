import { type Discovered, improvServiceDataUuid, improvServiceUuid } from '@station/protocol/ble-frames';
import { readAdvertisedName } from '@station/protocol/ble-names';
import type { Candidate } from '@station/protocol/provisioning';
import { isExternalId } from '@station/protocol/topics';
import { ownValue } from '@station/protocol/own-value';

/** What the station knows about the devices that it may hear. */
export type Known = {
  serviceUuid: string;
  /** English name of a type; null: the type is not known. */
  typeName(type: string): string | null;
  /** Id of the station's device with this external id. */
  deviceId(externalId: string): string | null;
};

/** BlueZ drops a device that is silent for this long. */
const lostAfterMs = 30_000;
/** The same when the radio does not listen, because it writes or is paused. */
const lostWithoutListeningMs = 120_000;
/** Changes of the signal, and further changes of a restless device, are sent this often. */
const broadcastEveryMs = 1_000;
export const maxCandidates = 500;

/** What a single advertisement can carry at most (Bluetooth Core, extended advertising). */
const maxUuids = 16;
const maxDataEntries = 8;
const maxDataLength = 700;
/** Of the name; ids and types of this family are shorter. */
const maxNameLength = 140;

/** @returns null for a device that does not wait to be set up: other programs on this machine scan too. */
export function toCandidate(frame: Discovered, known: Known, lastSeenAt: string): Candidate | null {
  const protocol = protocolOf(frame, known.serviceUuid);
  if (protocol === null) return null;
  const name = plainText(frame.name).slice(0, maxNameLength).trim();
  const { externalId, type } = identityOf({ ...frame, name }, protocol, known);
  return {
    address: frame.address,
    name,
    rssi: toSignal(frame.rssi),
    service_uuids: frame.service_uuids.slice(0, maxUuids),
    service_data: Object.fromEntries(
      Object.entries(frame.service_data)
        .filter(([, value]) => value.length <= maxDataLength)
        .slice(0, maxDataEntries),
    ),
    protocol,
    externalId,
    deviceType: type,
    defaultName: defaultNameOf(name, protocol, externalId, type === null ? null : (known.typeName(type) ?? type)),
    deviceId: known.deviceId(externalId),
    lastSeenAt,
  };
}

function protocolOf(
  { service_uuids: uuids, service_data: data }: Discovered,
  serviceUuid: string,
): Candidate['protocol'] | null {
  const has = (uuid: string): boolean => Object.hasOwn(data, uuid);
  if (uuids.includes(serviceUuid) || has(serviceUuid)) return 'station';
  return uuids.includes(improvServiceUuid) || has(improvServiceDataUuid) ? 'improv' : null;
}

/** dBm of a real receiver; 127 and the like mean that it is not known. */
const toSignal = (rssi: number): number | null => (rssi >= -127 && rssi <= 20 ? Math.round(rssi) : null);

type Identity = { externalId: string; type: string | null };

/** From the name, else from the service data (`<type>-<id>`, `SH_<type>_<id>` or an id alone), else from the address. */
function identityOf(frame: Discovered, protocol: Candidate['protocol'], known: Known): Identity {
  const named = readAdvertisedName(frame.name);
  // The name of an Improv device is free text: "kitchen-light" names no type.
  const isTrusted = protocol === 'station' || frame.name.startsWith('SH_');
  if (named !== null && (isTrusted || known.typeName(named.type) !== null)) return named;
  const data = protocol === 'station' ? textOf(ownValue(frame.service_data, known.serviceUuid)) : '';
  const described = readAdvertisedName(data);
  if (described !== null) return described;
  if (data !== '' && isExternalId(data)) return { externalId: data, type: null };
  return { externalId: frame.address.replaceAll(':', '').toLowerCase(), type: null };
}

/** Base64 of UTF-8; empty when it is not text. */
function textOf(base64: string | undefined): string {
  if (base64 === undefined) return '';
  const text = Buffer.from(base64, 'base64').toString('utf8');
  return text === plainText(text) ? text : '';
}

/** Without control, formatting and broken characters; for people and logs. */
const plainText = (text: string): string =>
  text
    .replace(/[\p{C}\ufffd]/gu, '')
    .replace(/\s+/g, ' ')
    .trim();

function defaultNameOf(
  name: string,
  protocol: Candidate['protocol'],
  externalId: string,
  typeName: string | null,
): string {
  if (typeName === null && protocol === 'improv' && name !== '') return name.slice(0, 100);
  const end = externalId.replace(/[^\p{L}\p{N}]/gu, '').slice(-4);
  return `${inWords(typeName ?? 'Device')} ${end.toUpperCase()}`.trim().slice(0, 100);
}

/** `switch-pir` → `Switch pir` */
function inWords(text: string): string {
  const words = text.replace(/[-._]+/g, ' ').trim();
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** Whether people see the same device, apart from its signal. */
export const isSameDevice = (a: Candidate, b: Candidate): boolean => identityText(a) === identityText(b);

const identityText = ({ rssi: _rssi, lastSeenAt: _lastSeenAt, ...rest }: Candidate): string => JSON.stringify(rest);

/** What is kept about one candidate. Times are monotonic, milliseconds. */
export type Kept = {
  heardAtMs: number;
  firstHeardAtMs: number;
  /** Seconds in which it was heard. */
  heardSeconds: number;
  rssi: number | null;
  /** When it was last sent; null: not yet sent since it was found. */
  broadcastAtMs: number | null;
  /** When a change was sent at once. */
  changeBroadcastAtMs: number | null;
};

/** Whether to send it now. The first report and a change are sent at once, but a restless device does not flood the browsers. */
export function isBroadcastNow(kept: Kept, isChanged: boolean, nowMs: number): boolean {
  if (kept.broadcastAtMs === null) return true;
  const sinceMs = nowMs - (isChanged ? (kept.changeBroadcastAtMs ?? -Infinity) : kept.broadcastAtMs);
  return sinceMs >= broadcastEveryMs;
}

/** @param listeningSinceMs null: the radio does not listen. */
export function isLost({ heardAtMs }: Kept, listeningSinceMs: number | null, nowMs: number): boolean {
  const isSilent = listeningSinceMs !== null && nowMs - Math.max(heardAtMs, listeningSinceMs) >= lostAfterMs;
  return isSilent || nowMs - heardAtMs >= lostWithoutListeningMs;
}

const settledAfterMs = 2_000;
const settledSeconds = 3;

/** Heard again and again over time. Made-up addresses, however many and strong, never take the place of such a device. */
export const isSettled = ({ heardAtMs, firstHeardAtMs, heardSeconds }: Kept): boolean =>
  heardSeconds >= settledSeconds && heardAtMs - firstHeardAtMs >= settledAfterMs;

/** Which of two is dropped first: one that is not settled, then the one that was heard earlier. Negative: `a`. */
export const byWorth = (a: Kept, b: Kept): number =>
  Number(isSettled(a)) - Number(isSettled(b)) || a.heardAtMs - b.heardAtMs;
