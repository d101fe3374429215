import type { Reader } from './reader.ts';
import * as check from './values.ts';
import type { Check } from './values.ts';

/** Variables of the Wi-Fi watchdog and its hotspot (contracts, section 3). */
export type WifiConfig = {
  readonly watchdog: 'auto' | 'on' | 'off';
  readonly interface: string | null;
  readonly country: string | null;
  /** Asked whether the internet is there; any answer from its host will do. Null: nobody is asked. */
  readonly connectivityUrl: URL | null;
  /** Where people find the station in their own network; the setup page names it. */
  readonly stationUrl: URL;
  readonly hotspot: {
    readonly ssid: string;
    /** Null: an open network. */
    readonly password: string | null;
    readonly address: string;
    readonly prefixLength: number;
    readonly portalPort: number;
  };
};

const webUrl = check.url(['https', 'http']);

export function readWifi(
  reader: Reader,
  { stationId, releaseUrl, hostname }: { stationId: string; releaseUrl: URL; hostname: string },
): WifiConfig {
  const address = reader.or('HOTSPOT_ADDRESS', check.ipv4WithPrefix, { address: '192.0.2.1', prefixLength: 24 });
  const interfaceName = check.matching(/^(?!\.{1,2}$)[^\s/:]{1,15}$/, 'be the name of a network interface');
  return {
    watchdog: reader.or('WIFI_WATCHDOG', watchdogMode, 'auto'),
    interface: reader.or('WIFI_INTERFACE', interfaceName, null),
    country: reader.or('WIFI_COUNTRY', check.matching(/^[A-Z]{2}$/, 'be two capital letters (ISO 3166-1)'), null),
    connectivityUrl: reader.or('CONNECTIVITY_CHECK_URL', webUrl, usualConnectivityUrl(releaseUrl)),
    stationUrl: reader.or('STATION_URL', webUrl, usualStationUrl(hostname)),
    hotspot: {
      ssid: reader.or('HOTSPOT_SSID', check.ssid, `Station-${stationId.slice(-4)}`),
      password: reader.or('HOTSPOT_PASSWORD', check.passphrase, null),
      ...address,
      portalPort: reader.or('PORTAL_PORT', check.port, 80),
    },
  };
}

/** The server that releases come from: nobody else learns that this station is there. */
const usualConnectivityUrl = (releaseUrl: URL): URL | null =>
  ['http:', 'https:'].includes(releaseUrl.protocol) ? new URL('/', releaseUrl) : null;

/** Its name in multicast DNS (RFC 6762), which phones and computers know without a server. */
const usualStationUrl = (hostname: string): URL => {
  const label = hostname.split('.')[0] ?? '';
  return URL.parse(`http://${label}.local/`) ?? new URL('http://station.local/');
};

const watchdogMode: Check<'auto' | 'on' | 'off'> = (text) => {
  if (text.toLowerCase() === 'auto') return check.ok('auto');
  const chosen = check.boolean(text);
  return chosen.ok ? check.ok(chosen.value ? 'on' : 'off') : check.must('be auto, true or false');
};
