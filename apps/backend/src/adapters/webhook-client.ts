import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';
import type { Agent } from 'undici';

type WebhookCall = {
  url: string;
  method: 'POST' | 'GET';
  /** Sent as JSON; null: no body. */
  body: Readonly<Record<string, unknown>> | null;
  signal: AbortSignal;
};

export type WebhookAnswer =
  | { kind: 'answered'; statusCode: number }
  /** In English, for people; without path, query and login of the address. */
  | { kind: 'failed'; reason: string };

export type WebhookClient = AsyncDisposable & {
  /** @throws (rejects) the signal's reason when it aborts; all other failures are in the answer. */
  call(call: WebhookCall): Promise<WebhookAnswer>;
};

/** Resolves a name to addresses, as the system does. */
export type ResolveName = (host: string) => Promise<{ address: string; family: number }[]>;

const timeoutMs = 10_000;
/** Limit of an answer: its content is not used and must not fill memory. */
const maxAnswerBytes = 64 * 1024;

/**
 * Calls addresses from automations without opening a way into the station's network (SSRF). It resolves a name once, checks every address
 * of it, and connects to a checked one, so that DNS rebinding has no effect. It does not follow redirects. Calls share no state.
 * @param allow private addresses and subnets (`192.168.1.0/24`) that may be called.
 */
export function createWebhookClient(options: { allow: readonly string[]; resolve?: ResolveName }): WebhookClient {
  const allowed = addressList(options.allow);
  const resolve = options.resolve ?? ((host) => lookup(host, { all: true }));
  let agent: Agent | null = null;

  return {
    call: async ({ url, method, body, signal }) => {
      const target = new URL(url);
      const refused = whyRefused(target, allowed);
      if (refused !== null) return { kind: 'failed', reason: refused };
      // Loaded only where a webhook is called.
      const { Agent, request } = await import('undici');
      agent ??= new Agent({
        connections: 4,
        pipelining: 1,
        keepAliveTimeout: 1_000,
        connect: { lookup: checkedLookup({ allowed, resolve }), timeout: timeoutMs },
      });
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        const response = await request(withoutLogin(target), {
          method,
          dispatcher: agent,
          signal: AbortSignal.any([signal, timeout]),
          headersTimeout: timeoutMs,
          bodyTimeout: timeoutMs,
          headers: {
            'user-agent': 'station',
            ...loginOf(target),
            ...(body === null ? {} : { 'content-type': 'application/json' }),
          },
          body: body === null ? null : JSON.stringify(body),
        });
        await response.body.dump({ limit: maxAnswerBytes, signal: AbortSignal.any([signal, timeout]) });
        return { kind: 'answered', statusCode: response.statusCode };
      } catch (error) {
        signal.throwIfAborted();
        if (timeout.aborted) return { kind: 'failed', reason: 'It did not answer within 10 seconds.' };
        return { kind: 'failed', reason: failureOf(error) };
      }
    },
    [Symbol.asyncDispose]: async () => {
      await agent?.destroy();
    },
  };
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

type Guard = { allowed: BlockList; resolve: ResolveName };

class NotPublicError extends Error {}

const notPublic = 'The address is not a public one, and the configuration of the station does not allow it.';

/** Checks before any connection; an address in the URL itself is never looked up. */
function whyRefused(target: URL, allowed: BlockList): string | null {
  if (target.protocol !== 'http:' && target.protocol !== 'https:') return 'Only http and https are called.';
  const host = target.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && !mayCall(host, allowed) ? notPublic : null;
}

/** Replaces `dns.lookup` of a connection, so that it connects to the checked address. */
function checkedLookup({ allowed, resolve }: Guard): LookupFunction {
  return (host, options, callback) => {
    resolve(host).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined || !addresses.every(({ address }) => mayCall(address, allowed))) {
          return callback(new NotPublicError(notPublic), []);
        }
        return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };
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
  const login = `${decoded(username)}:${decoded(password)}`;
  return { authorization: `Basic ${Buffer.from(login).toString('base64')}` };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The error codes of system and client are clear, and contain no address. */
function failureOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof NotPublicError) return notPublic;
  }
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'no answer';
  return `The request failed: ${code}.`;
}
