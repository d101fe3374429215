import { isIPv4 } from '@station/kit/node-tables';
import type { CertificateFacts, InterfaceAddress } from './tls-ports.ts';

export const dayMs = 24 * 3600_000;
/** Browsers refuse more than 397 days, those before today included. */
const validMs = 390 * dayMs;
/** For machines whose clock is behind. */
const backdatedMs = dayMs;
const renewBeforeMs = 30 * dayMs;
/** A machine that moves between networks keeps the addresses it had last. */
const maxAddresses = 8;

/** The certificate always has this name too: clients that connect by address are given the certificate by it. */
const usualName = 'station.local';

/** Networks of containers on the machine itself. */
const isOfContainers = (name: string): boolean => /^(docker|br-|veth|cni|podman)/.test(name);

/** Private and link-local addresses (RFC 1918, RFC 3927): the authority vouches for no others. */
export function isHomeAddress(address: string): boolean {
  if (!isIPv4(address)) return false;
  const [first, second] = address.split('.').map(Number) as [number, number];
  return (
    first === 10 ||
    (first === 172 && second >= 16 && second <= 31) ||
    (first === 192 && second === 168) ||
    (first === 169 && second === 254)
  );
}

/** Addresses under which others in the home network reach the station. */
export const homeAddresses = (addresses: readonly InterfaceAddress[]): string[] =>
  addresses
    .filter(({ interface: name }) => !isOfContainers(name))
    .flatMap(({ address }) => (isHomeAddress(address) ? [address] : []));

/**
 * The authority vouches for names in `.local` only.
 * @param host of STATION_URL.
 * @param mdnsName what the machine is really called in its network; null: not known.
 */
export const certifiedNames = (host: string, mdnsName: string | null): string[] =>
  [...new Set([host.toLowerCase(), usualName, ...(mdnsName === null ? [] : [mdnsName.toLowerCase()])])].filter((name) =>
    name.endsWith('.local'),
  );

/**
 * Whether the station needs a new certificate.
 * @param present null: there is none that the authority signed.
 * @returns what to issue; null: the present one is good.
 */
export function decideCertificate(
  present: CertificateFacts | null,
  wanted: { names: readonly string[]; addresses: readonly string[] },
  now: number,
): CertificateFacts | null {
  const isGood =
    present !== null &&
    wanted.names.every((name) => present.names.includes(name)) &&
    wanted.addresses.every((address) => present.addresses.includes(address)) &&
    // A clock that was wrong when it was issued: it is issued again when the clock is right.
    now >= present.notBefore &&
    now < present.notAfter - renewBeforeMs;
  if (isGood) return null;
  const addresses = [...new Set([...wanted.addresses, ...(present?.addresses ?? [])])].slice(
    0,
    Math.max(maxAddresses, wanted.addresses.length),
  );
  return { names: [...wanted.names], addresses, notBefore: now - backdatedMs, notAfter: now + validMs };
}
