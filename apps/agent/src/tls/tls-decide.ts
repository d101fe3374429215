import { isIPv4 } from '@station/kit/node-tables';
import { isOfContainers } from '../core/container-links.ts';
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

/** After 2049 a certificate has another form of time (RFC 5280, 4.1.2.5), which devices of today need not know. */
export const firstAuthorityEnd = Date.UTC(2049, 11, 31, 23, 59, 59);
const authorityYears = 30;
/** So long phones and computers trust both: the one before, and the one with its key. */
const authorityOverlapYears = 3;

const movedByYears = (time: number, years: number): number => {
  const date = new Date(time);
  return date.setUTCFullYear(date.getUTCFullYear() + years);
};

/**
 * Whether the authority must be made again, with its key: what it signed stays good for those who trust either.
 * @returns its new end; null: the present one is good. A clock that nobody called right decides nothing.
 */
export function decideAuthority(
  notAfter: number,
  { now, isClockRight }: { now: number; isClockRight: boolean | null },
): number | null {
  const due = movedByYears(now, authorityOverlapYears);
  if (isClockRight === false || notAfter > due) return null;
  let end = notAfter;
  while (end <= due) end = movedByYears(end, authorityYears);
  return end;
}

/** Until when phones trust the station that have the authority before this one. Null: this is the first one. */
export const endOfAuthorityBefore = (notAfter: number): number | null =>
  notAfter <= firstAuthorityEnd ? null : movedByYears(notAfter, -authorityYears);

/**
 * Whether the station needs a new certificate.
 * @param present null: there is none that the authority signed.
 * @param isClockRight null: nobody tells, and the clock is believed.
 * @returns what to issue; null: the present one is good.
 */
export function decideCertificate(
  present: CertificateFacts | null,
  wanted: { names: readonly string[]; addresses: readonly string[] },
  { now, isClockRight }: { now: number; isClockRight: boolean | null },
): CertificateFacts | null {
  // A board without a clock battery starts years back, and its clients do not: a certificate of then would be one that nobody trusts.
  const time = isClockRight === false && present !== null ? Math.max(now, present.notBefore + backdatedMs) : now;
  const isGood =
    present !== null &&
    wanted.names.every((name) => present.names.includes(name)) &&
    wanted.addresses.every((address) => present.addresses.includes(address)) &&
    // A clock that was wrong when it was issued: it is issued again when the clock is right.
    time >= present.notBefore &&
    time < present.notAfter - renewBeforeMs;
  if (isGood) return null;
  const addresses = [...new Set([...wanted.addresses, ...(present?.addresses ?? [])])].slice(
    0,
    Math.max(maxAddresses, wanted.addresses.length),
  );
  return { names: [...wanted.names], addresses, notBefore: time - backdatedMs, notAfter: time + validMs };
}
