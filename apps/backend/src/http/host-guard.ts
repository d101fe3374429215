import { isIP } from '@station/kit/node-tables';
import { StationError } from '@station/kit/station-error';
import { wishedName } from '@station/protocol/station-name';
import type { HttpServer } from './server.ts';

/** The name that a station has where nobody gave it another. */
const usualName = 'station.local';

type OwnNames = { publicUrl: string; publicName: string | null };

/**
 * Refuses every request, WebSocket upgrades included, whose `Host` is a foreign name: 421 `host_unknown`. A web page that
 * points its own name at the station (DNS rebinding) would otherwise be of the same origin as the station.
 * @param names PUBLIC_URL, whose host is a name of the station, and PUBLIC_NAME.
 */
export function guardHost(app: HttpServer, names: OwnNames): void {
  const isOwn = createIsOwnHost(names);
  app.addHook('onRequest', async ({ headers }) => {
    // The header itself: `request.host` also believes X-Forwarded-Host.
    if (!isOwn(headers.host)) {
      throw new StationError(
        'host_unknown',
        'The station does not answer under this name. PUBLIC_URL and PUBLIC_NAME set its names.',
        { details: { addresses: addressesOf(names) } },
      );
    }
  });
}

/** Where people find the station; nothing that its own name does not say. */
const addressesOf = ({ publicUrl, publicName }: OwnNames): string[] => [
  publicUrl,
  ...(publicName === null ? [] : [`https://${publicName}`]),
];

/**
 * Tells whether a `Host` header can be the station: an address, a name without dots, `station.local`, PUBLIC_NAME or the host of PUBLIC_URL.
 * Behind the proxy the machine's addresses are not known; a page with an address as its name cannot be rebound. Nor can one
 * with a name without dots: no page on the internet has one. Containers and home routers use such names.
 */
export function createIsOwnHost({ publicUrl, publicName }: OwnNames): (header: string | undefined) => boolean {
  const own = [usualName, withoutDot(new URL(publicUrl).hostname), ...(publicName === null ? [] : [publicName])];
  // `foundUrl` gives devices the name with the number that the machine has now: cabin.local for cabin-2.local.
  const names = new Set(own.map(wishedName));
  return (header) => {
    const name = hostNameOf(header);
    if (name === null) return false;
    if (isIP(name.replace(/^\[|\]$/g, '')) !== 0 || !name.includes('.')) return true;
    return names.has(wishedName(name));
  };
}

/** The name in a `Host` header without its port, as a URL has it: lower case, IPv6 in brackets. Null when it is no host. */
export function hostNameOf(header: string | undefined): string | null {
  if (header === undefined || !/^[^\s/\\?#@]+$/.test(header)) return null;
  const host = URL.parse(`http://${header}`)?.hostname;
  return host === undefined ? null : withoutDot(host);
}

/** A name may end with the dot of the root of the DNS. */
const withoutDot = (name: string): string => name.replace(/\.$/, '');
