import type { FastifyRequest } from 'fastify';
import { isIP } from '@station/kit/node-tables';
import { hostNameOf } from '../http/host-guard.ts';

/** The station as browsers know it in Web Authentication: they have passkeys for a host name, and sign with the page's origin. */
export type RelyingParty = { host: string; origin: string };

/**
 * The name under which a page was opened. The host guard has refused names that are not the station's.
 * @returns null when browsers have no passkeys there: without HTTPS, and for an address.
 */
export function relyingPartyOf({
  protocol,
  headers,
}: Pick<FastifyRequest, 'protocol' | 'headers'>): RelyingParty | null {
  const host = hostNameOf(headers.host);
  if (protocol !== 'https' || host === null || isIP(host.replace(/^\[|\]$/g, '')) !== 0) return null;
  return { host, origin: new URL(`https://${headers.host}`).origin };
}
