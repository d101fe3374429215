import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';
import { type OutgoingProxy, proxyFor } from '@station/kit/outgoing-proxy';
import { readRetryAfter } from '@station/kit/retry-after';
import { loginOfUrl } from '@station/kit/url-login';
import { within } from '@station/kit/within';
import type { buildConnector, Dispatcher } from 'undici';

type GuardedRequest = {
  url: string;
  method: 'POST' | 'GET';
  headers: Readonly<Record<string, string>>;
  body: string | Buffer | null;
  signal: AbortSignal;
};

export type GuardedAnswer =
  /** `retryAfterMs`: the wait that the server asks for; null: none. */
  | { kind: 'answered'; statusCode: number; retryAfterMs: number | null }
  /** `reason`: in English, for people; without path, query and login of the address. */
  | { kind: 'failed'; cause: 'not_allowed' | 'no_answer' | 'certificate'; reason: string };

export type GuardedHttp = AsyncDisposable & {
  /** @throws (rejects) the signal's reason when it aborts; all other failures are in the answer. */
  send(request: GuardedRequest): Promise<GuardedAnswer>;
};

/** Resolves a name to addresses, as the system does. */
export type ResolveName = (host: string) => Promise<{ address: string; family: number }[]>;

export type GuardedHttpOptions = { allow: readonly string[]; proxy: OutgoingProxy; resolve?: ResolveName };

const timeoutMs = 10_000;
/** Limit of an answer: its content is not used and must not fill memory. */
const maxAnswerBytes = 64 * 1024;
/** Of a connection, with its handshake: interim answers without an end would take the processor until the time is over. */
const maxConnectionBytes = 256 * 1024;

/**
 * HTTP to addresses that people entered, without opening a way into the station's network (SSRF). It resolves a name once, checks every
 * address of it, and connects to a checked one, so that DNS rebinding has no effect. It does not follow redirects. Requests share no state.
 *
 * Behind a proxy it is the proxy that connects: a name is checked here where it can be resolved here, and left to the proxy otherwise.
 * @param options.allow private addresses and subnets (`192.168.1.0/24`) that may be called.
 */
export function createGuardedHttp(options: GuardedHttpOptions): GuardedHttp {
  const guard = createAddressGuard(options);
  const dispatchers = new Map<string | null, Dispatcher>();
  const dispatcherFor = (undici: typeof import('undici'), proxy: string | null): Dispatcher => {
    const { Agent, EnvHttpProxyAgent } = undici;
    const known = dispatchers.get(proxy);
    if (known !== undefined) return known;
    const usual = {
      connections: 4,
      // A connection for each request.
      pipelining: 0,
      connect: boundedConnector(undici, { lookup: checkedLookup(guard), timeout: timeoutMs }),
    };
    const made =
      proxy === null
        ? new Agent(usual)
        : // Proxies take no tunnels to port 80.
          new EnvHttpProxyAgent({ ...usual, httpProxy: proxy, httpsProxy: proxy, noProxy: '', proxyTunnel: false });
    dispatchers.set(proxy, made);
    return made;
  };

  return {
    send: async ({ url, method, headers, body, signal }) => {
      const target = URL.parse(url);
      if (target === null) return { kind: 'failed', cause: 'not_allowed', reason: 'This is not an address.' };
      const refused = guard.whyRefused(target);
      if (refused !== null) return { kind: 'failed', cause: 'not_allowed', reason: refused };
      const proxy = proxyFor(target, options.proxy);
      const timeout = AbortSignal.timeout(timeoutMs);
      const ends = AbortSignal.any([signal, timeout]);
      try {
        if (proxy !== null) await refusePrivateName(target, guard);
        // Loaded only where a request is sent.
        const undici = await import('undici');
        const response = await undici.request(withoutLogin(target), {
          method,
          dispatcher: dispatcherFor(undici, proxy),
          signal: ends,
          headersTimeout: timeoutMs,
          bodyTimeout: timeoutMs,
          headers: { 'user-agent': 'station', ...loginOf(target), ...headers },
          body,
        });
        const retryAfterMs = readRetryAfter(response.headers['retry-after'], Date.now());
        await response.body.dump({ limit: maxAnswerBytes, signal: ends });
        return { kind: 'answered', statusCode: response.statusCode, retryAfterMs };
      } catch (error) {
        signal.throwIfAborted();
        if (timeout.aborted)
          return { kind: 'failed', cause: 'no_answer', reason: 'It did not answer within 10 seconds.' };
        return failureOf(error);
      }
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

function boundedConnector(
  undici: typeof import('undici'),
  options: buildConnector.BuildOptions,
): buildConnector.connector {
  const connect = undici.buildConnector(options);
  return (target, callback) =>
    connect(target, (error, socket) => {
      if (error !== null) return callback(error, null);
      socket.on('readable', () => {
        if (socket.bytesRead > maxConnectionBytes) socket.destroy(new Error('The server sends no end'));
      });
      callback(null, socket);
    });
}

/** Whether an entry of the allow list is valid. */
export function isAddressOrSubnet(entry: string): boolean {
  try {
    addressList([entry]);
    return true;
  } catch {
    return false;
  }
}

/** The private networks of homes (RFC 1918, RFC 6598, RFC 4193): not this machine, and not the link-local addresses of cloud hosts. */
export const homeNetworks: readonly string[] = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
];

export type AddressGuard = {
  /** Checks before any connection; an address in the URL itself is never looked up. */
  whyRefused(target: URL): string | null;
  /** The addresses of a name or address. @throws NotPublicError, or the error of the look-up. */
  addressesOf(host: string): Promise<{ address: string; family: number }[]>;
};

export class NotPublicError extends Error {}

export function createAddressGuard(options: { allow: readonly string[]; resolve?: ResolveName }): AddressGuard {
  const allowed = addressList(options.allow);
  const resolve = options.resolve ?? ((host) => lookup(host, { all: true }));
  return {
    whyRefused: (target) => whyRefused(target, allowed),
    addressesOf: async (host) => {
      const family = isIP(host);
      const addresses = family === 0 ? await resolve(host) : [{ address: host, family }];
      if (addresses.length === 0 || !addresses.every(({ address }) => mayCall(address, allowed)))
        throw new NotPublicError(notPublic);
      return addresses;
    },
  };
}

const notPublic = 'The address is not a public one, and the configuration of the station does not allow it.';

function whyRefused(target: URL, allowed: BlockList): string | null {
  if (target.protocol !== 'http:' && target.protocol !== 'https:') return 'Only http and https are called.';
  const host = target.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && !mayCall(host, allowed) ? notPublic : null;
}

/** Replaces `dns.lookup` of a connection, so that it connects to the checked address. */
const checkedLookup =
  ({ addressesOf }: AddressGuard): LookupFunction =>
  (host, options, callback) => {
    addressesOf(host).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true || first === undefined) return callback(null, addresses);
        return callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };

/** Where only the proxy resolves names, a look-up may stay without an answer for longer than a request may take. */
const lookupMs = 2_000;

/** @throws NotPublicError. A name that only the proxy can resolve passes. */
async function refusePrivateName({ hostname }: URL, { addressesOf }: AddressGuard): Promise<void> {
  try {
    await within(lookupMs, addressesOf(hostname.replace(/^\[|\]$/g, '')));
  } catch (error) {
    if (error instanceof NotPublicError) throw error;
  }
}

function mayCall(address: string, allowed: BlockList): boolean {
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  if (allowed.check(address, family)) return true;
  if (family === 'ipv4') return !notGlobal4.check(address, 'ipv4');
  return global6.check(address, 'ipv6') && !notGlobal6.check(address, 'ipv6');
}

/** IANA's special-purpose registry (RFC 6890 and later), and multicast. */
const notGlobal4 = addressList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]);
/** Global unicast (RFC 4291, section 2.4): everything else, also IPv4-mapped IPv6, is refused. */
const global6 = addressList(['2000::/3']);
const notGlobal6 = addressList(['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']);

/** @throws when an entry is neither an address nor a subnet. */
function addressList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits, ...more] = entry.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (isIP(address) === 0 || more.length > 0) throw new Error(`${entry} is not an address`);
    if (bits === undefined) list.addAddress(address, family);
    else if (/^\d{1,3}$/.test(bits)) list.addSubnet(address, Number(bits), family);
    else throw new Error(`${entry} is not a subnet`);
  }
  return list;
}

function withoutLogin(target: URL): URL {
  const url = new URL(target);
  url.username = '';
  url.password = '';
  return url;
}

/** RFC 7617. */
function loginOf({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const login = `${loginOfUrl(username)}:${loginOfUrl(password)}`;
  return { authorization: `Basic ${Buffer.from(login).toString('base64')}` };
}

/** The error codes of system and client are clear, and contain no address. */
function failureOf(error: unknown): Extract<GuardedAnswer, { kind: 'failed' }> {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof NotPublicError) return { kind: 'failed', cause: 'not_allowed', reason: notPublic };
  }
  const refusal = error instanceof Error ? /^Proxy .*\((\d{3})\)/.exec(error.message)?.[1] : undefined;
  if (refusal !== undefined)
    return { kind: 'failed', cause: 'no_answer', reason: `The proxy of this network answered ${refusal}.` };
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'no answer';
  const cause = isAboutCertificate(code) ? 'certificate' : 'no_answer';
  return { kind: 'failed', cause, reason: `The request failed: ${code}.` };
}

/** Codes of OpenSSL's verification and of Node's check of the name. */
export const isAboutCertificate = (code: string): boolean =>
  /CERT|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)|ALTNAME/.test(code);
