import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from '@station/kit/node-tables';
import { StationError } from '@station/kit/station-error';
import { isLoopback } from '../core/loopback.ts';

/**
 * Who may call (contracts, section 4). Throws the refusal as a StationError.
 * @param isSecret the answer or the body holds secrets: only with the token, or without one over the Unix socket.
 */
export type Guard = (request: Pick<IncomingMessage, 'method' | 'headers' | 'socket'>, isSecret: boolean) => void;

const safeMethods = ['GET', 'HEAD'];

/**
 * With a token: whatever changes something or is secret must carry it. Whoever calls over TCP without it must use a name of the agent: a page in
 * a browser of this machine can send requests here, under its own name (DNS rebinding) or as another origin.
 * @param options.overSocket the Unix socket: no browser reaches it, so names are not checked.
 */
export function createGuard(options: { token: string | null; host: string; overSocket: boolean }): Guard {
  const { token, host, overSocket } = options;
  const isToken = token === null ? null : tokenCheck(token);
  return ({ method, headers, socket }, isSecret) => {
    if (isToken?.(bearerOf(headers.authorization)) === true) return;
    if (isToken !== null && (isSecret || !safeMethods.includes(method ?? '')))
      throw new StationError('unauthorized', 'This call needs the token of the agent (Authorization: Bearer).');
    if (overSocket) return;
    if (isSecret)
      throw new StationError('unauthorized', 'This call needs AGENT_TOKEN, or the Unix socket of the agent.');
    const isOwnName = (name: string | null): boolean =>
      name !== null && (isLoopback(name) || isListeningName(name, host, socket.localAddress));
    if (!isOwnName(hostName(headers.host)))
      throw new StationError('host_not_allowed', 'Without the token the agent answers only under its own address.');
    if (headers.origin !== undefined && !isOwnName(originName(headers.origin)))
      throw new StationError('origin_not_allowed', 'Without the token the agent refuses calls from other web sites.');
  };
}

/** True when other machines can reach the address `host`. */
export const listensBeyondLoopback = (host: string): boolean => !isLoopback(hostName(bracketed(host)) ?? host);

/** Compares digests: the time reveals neither the content nor the length of the token. */
function tokenCheck(token: string): (given: string | null) => boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const wanted = digest(token);
  return (given) => given !== null && timingSafeEqual(digest(given), wanted);
}

/** The token of `Bearer <token>` (RFC 6750, section 2.1); null when there is none. */
function bearerOf(header: string | undefined): string | null {
  return /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? null;
}

/** Name without port of a Host header, as a URL has it: lower case, IPv6 in brackets. Null when it is no host. */
function hostName(header: string | undefined): string | null {
  if (header === undefined || !/^[^\s/\\?#@]+$/.test(header)) return null;
  return URL.parse(`http://${header}`)?.hostname.replace(/\.$/, '') ?? null;
}

function originName(origin: string): string | null {
  const match = /^https?:\/\/([^/]+)$/i.exec(origin);
  return hostName(match?.[1]);
}

function isListeningName(name: string, host: string, localAddress: string | undefined): boolean {
  if (name === hostName(bracketed(host))) return true;
  // Listening on every address, HOST stands for all of them. An address in Host cannot be a rebound name.
  if (!['0.0.0.0', '::'].includes(host) || localAddress === undefined) return false;
  const local = localAddress.replace(/^::ffff:(?=[\d.]+$)/, '');
  return isIP(local) !== 0 && name === hostName(bracketed(local));
}

const bracketed = (address: string): string => (isIPv6(address) ? `[${address}]` : address);
