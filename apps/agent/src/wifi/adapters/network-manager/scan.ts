import type { Clock } from '@station/kit/clock';
import type { Security } from '@station/protocol/wifi-password';
import { ssidFromBytes, type SsidHex, ssidToBytes, type Network } from '../../../core/wifi-network.ts';
import type { Bus } from '@station/kit/message-bus';
import type { Client } from './client.ts';
import {
  bytes,
  interfaces,
  list,
  number,
  type ObjectTree,
  propertiesOf,
  record,
  text,
  type WifiDevice,
  wifiDeviceOf,
} from './objects.ts';
import { knownProfiles } from './profiles.ts';
import type { Supplicant } from './supplicant.ts';

/**
 * Starts a scan and waits for its end (`LastScan` changes), at most `limitMs`. A busy radio refuses and is
 * asked again; hidden networks are scanned for one by one by name, because nothing else finds them.
 * @returns whether a fresh scan was made.
 */
export async function scanNow(
  parts: {
    bus: Bus;
    client: Client;
    supplicant: Supplicant;
    clock: Clock;
    interfaceName: string | null;
    limitMs: number;
  },
  hidden: readonly SsidHex[],
  signal: AbortSignal,
): Promise<boolean> {
  const { bus, client, clock } = parts;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(parts.limitMs)]);
  const name = text(wifiDeviceOf(await client.readTree(), parts.interfaceName)?.device['Interface']);
  // Otherwise the end of an earlier scan would count as the end of ours.
  await parts.supplicant.stopScan(name);
  const wifi = wifiDeviceOf(await client.readTree(), parts.interfaceName);
  if (!wifi) return false;
  const before = wifi.wireless['LastScan'];
  const done = new AbortController();
  using _listening = bus.listen(({ path, member, body }) => {
    if (path !== wifi.path || member !== 'PropertiesChanged' || body[0] !== interfaces.wireless) return;
    const lastScan = record(body[1])['LastScan'];
    if (lastScan !== undefined && lastScan !== before) done.abort();
  });
  const either = AbortSignal.any([limit, done.signal]);
  while (!either.aborted) {
    try {
      // At most eight names: the limit of drivers for one scan.
      await client.requestScan(wifi.path, hidden.slice(0, maxNames).map(ssidToBytes));
      await sleep(clock, parts.limitMs, either);
    } catch {
      await sleep(clock, refusedPauseMs, either);
    }
  }
  return done.signal.aborted;
}

const maxNames = 8;
const refusedPauseMs = 1000;

/** Resolves early, without an error, when the signal aborts. */
const sleep = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  clock.sleep(ms, signal).catch(() => undefined);

/** NM80211ApFlags. */
const hasPrivacy = 0x1;
/** NM80211ApSecurityFlags. */
const keyPsk = 0x100;
const key8021x = 0x200;
const keySae = 0x400;
const keyOwe = 0x800;
const keyOweTransition = 0x1000;
const keySuiteB192 = 0x2000;

export type AccessPoint = {
  path: string;
  ssid: SsidHex;
  security: Security;
  signal: number;
  /** Of its channel, MHz. */
  frequency: number;
};

/**
 * The security of an access point, from its Flags, WpaFlags and RsnFlags (NM80211ApFlags, NM80211ApSecurityFlags). A personal key
 * is preferred to 802.1X where both are offered, because the station can use it without a person. An open network that also offers
 * OWE (transition mode) is open.
 */
export function securityOf(flags: number, wpaFlags: number, rsnFlags: number): Security {
  const all = wpaFlags | rsnFlags;
  const hasPsk = (all & keyPsk) !== 0;
  if ((rsnFlags & keySae) !== 0) return hasPsk ? 'wpa2-wpa3' : 'wpa3';
  if (hasPsk) return 'wpa2';
  if ((all & (key8021x | keySuiteB192)) !== 0) return 'enterprise';
  if ((rsnFlags & keyOwe) !== 0) return 'owe';
  if ((rsnFlags & keyOweTransition) !== 0) return 'open';
  return (flags & hasPrivacy) !== 0 ? 'wep' : 'open';
}

/** An access point counts as seen by a scan if it was seen within these seconds before its end: slow scans take that long. */
const freshSeconds = 45;

/**
 * Access points in the device's list, strongest first. Those missing from the last scan, our own hotspot and hidden ones
 * are left out.
 */
export function accessPointsOf(tree: ObjectTree, wifi: WifiDevice): AccessPoint[] {
  const lastScan = number(wifi.wireless['LastScan']) / 1000;
  const own = text(wifi.wireless['HwAddress']).toLowerCase();
  return list(wifi.wireless['AccessPoints'])
    .flatMap((path) => {
      const point = propertiesOf(tree, path, interfaces.accessPoint);
      if (!point) return [];
      const ssid = ssidFromBytes(bytes(point['Ssid']));
      // A hidden network's beacon carries an empty name, or as many zeros as its name is long.
      if (/^(00)*$/.test(ssid) || (own !== '' && text(point['HwAddress']).toLowerCase() === own)) return [];
      const lastSeen = number(point['LastSeen']);
      if (lastScan > 0 && lastSeen > 0 && lastSeen < lastScan - freshSeconds) return [];
      const security = securityOf(number(point['Flags']), number(point['WpaFlags']), number(point['RsnFlags']));
      const frequency = number(point['Frequency']);
      return [{ path: text(path), ssid, security, signal: number(point['Strength']), frequency }];
    })
    .sort((a, b) => b.signal - a.signal);
}

/** One entry for all access points of the same name and security. */
function networksOf(points: readonly AccessPoint[], known: ReadonlySet<SsidHex>): Network[] {
  const networks = new Map<string, Network>();
  for (const { ssid, security, signal } of points) {
    const key = `${ssid} ${security}`;
    if (!networks.has(key)) networks.set(key, { ssid, security, signal, isKnown: known.has(ssid) });
  }
  return [...networks.values()];
}

/** The networks and access points that the radio sees now, from NetworkManager's list. */
export async function readNetworks(
  client: Client,
  interfaceName: string | null,
): Promise<{ networks: readonly Network[]; points: readonly AccessPoint[] }> {
  const tree = await client.readTree();
  const wifi = wifiDeviceOf(tree, interfaceName);
  if (!wifi) return { networks: [], points: [] };
  const known = knownProfiles(await client.readProfiles(tree), text(wifi.device['Interface']));
  const points = accessPointsOf(tree, wifi);
  return { networks: networksOf(points, new Set(known.map(({ ssid }) => ssid))), points };
}
