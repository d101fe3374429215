import type { Network, Security } from '../../wifi/wifi-ports.ts';
import { ssidFromBytes, type SsidHex } from '../../core/ssid.ts';
import { bytes, interfaces, list, number, propertiesOf, text, type ObjectTree, type WifiDevice } from './objects.ts';

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
 * How an access point is secured, from its Flags, WpaFlags and RsnFlags (NM80211ApFlags, NM80211ApSecurityFlags). A personal key
 * wins over 802.1X where both are offered: that is what a station without a person can use. An open network that offers OWE on the
 * side (transition mode) is open.
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

/** Seconds before the end of a scan in which an access point counts as seen by it: scans of busy or slow radios take that long. */
const freshSeconds = 45;

/**
 * Access points in the device's list, strongest first. Those the last scan has not met any more, our own hotspot, and those that
 * do not tell their name are left out.
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
export function networksOf(points: readonly AccessPoint[], known: ReadonlySet<SsidHex>): Network[] {
  const networks = new Map<string, Network>();
  for (const { ssid, security, signal } of points) {
    const key = `${ssid} ${security}`;
    if (!networks.has(key)) networks.set(key, { ssid, security, signal, isKnown: known.has(ssid) });
  }
  return [...networks.values()];
}
