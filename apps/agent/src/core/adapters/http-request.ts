import { collectBytes } from '@station/kit/collect-bytes';
import { responseOf } from '@station/kit/response-of';
import { ownValue } from '@station/protocol/own-value';
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

export type HttpRequest = {
  method?: 'GET' | 'POST';
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Ends the request, and later the body, with its reason. The only limit of the whole transfer. */
  signal: AbortSignal;
  /** Limit until the request is sent: name lookup, connection, TLS handshake. */
  connectMs?: number;
  /** Limit until the head of the response is there. */
  headMs?: number;
};

/** Read `body` to its end or destroy it, else the connection stays open. It fails when it is shorter than announced. */
export type HttpResponse = { status: number; headers: IncomingHttpHeaders; body: IncomingMessage };

const usualConnectMs = 10_000;
/** A server may send a few interim answers (RFC 9110, section 15.2) before its own, whose head has 16 KiB at most. */
const mostBytesBeforeAnswer = 64 * 1024;

/**
 * Sends one request by http or https. Follows no redirect. Each request opens its own connection: the agent asks seldom, and a server
 * may close a kept connection at any moment. Proxies: as Node reads them (NODE_USE_ENV_PROXY, HTTPS_PROXY, NO_PROXY).
 *
 * Not by fetch: it costs 8 MB and needs WebAssembly, which is absent with `--jitless`.
 * @throws the reason of the signal, or a fault that {@link faultOf} describes.
 */
export async function sendRequest(url: URL, request: HttpRequest): Promise<HttpResponse> {
  const { method = 'GET', headers, body, signal, connectMs = usualConnectMs, headMs } = request;
  signal.throwIfAborted();
  if (url.username !== '' || url.password !== '') throw new Error('the address contains a user name or password');
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const outgoing = send(url, { method, headers: { ...usualHeaders, ...headers } });
  let response: IncomingMessage | null = null;
  const onAbort = (): void => void (response ?? outgoing).destroy(errorOf(signal.reason));
  signal.addEventListener('abort', onAbort, { once: true });
  const limits = [limit(() => outgoing.destroy(new Error('no connection in time')), connectMs)];
  outgoing.once('finish', () => clearTimeout(limits[0]));
  if (headMs !== undefined) limits.push(limit(() => outgoing.destroy(new Error('no answer in time')), headMs));
  outgoing.once('close', () => signal.removeEventListener('abort', onAbort));
  limitHead(outgoing);
  try {
    outgoing.end(body);
    response = await responseOf(outgoing);
    signal.throwIfAborted();
  } catch (error) {
    outgoing.destroy();
    signal.throwIfAborted();
    throw error;
  } finally {
    for (const timer of limits) clearTimeout(timer);
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: response };
}

/** Interim answers and empty lines without an end would take the processor until the time is over. */
function limitHead(outgoing: ClientRequest): void {
  let bytes = 0;
  let isAnswered = false;
  outgoing.once('response', () => (isAnswered = true));
  outgoing.once('socket', (socket) => {
    const count = (chunk: Uint8Array): void => {
      bytes += chunk.length;
      if (!isAnswered && bytes > mostBytesBeforeAnswer) outgoing.destroy(new Error('the server sends no answer'));
      if (isAnswered) socket.off('data', count);
    };
    socket.on('data', count);
  });
}

/** Some servers refuse requests that do not name their program. */
const usualHeaders = { 'user-agent': 'station-agent', 'accept-encoding': 'identity', connection: 'close' };

const limit = (end: () => void, ms: number): NodeJS.Timeout => setTimeout(end, ms);

const errorOf = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

/** What is said when a web page came in place of a file. */
export const webPageReason = 'a web page came instead of the file: the network may ask for a log-in';

const mostRedirects = 5;

export type Followed = { kind: 'response'; response: HttpResponse; url: URL } | { kind: 'rejected'; reason: string };

/**
 * Gets an address and follows redirects, only to the same scheme or to https (contracts, section 1). Another origin does not receive
 * the credentials.
 * @throws as {@link sendRequest}, and when there is no end to them.
 */
export async function followRedirects(
  address: URL,
  { headers, ...request }: Omit<HttpRequest, 'method' | 'body'>,
): Promise<Followed> {
  let url = address;
  let sent = headers;
  for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
    const response = await sendRequest(url, { ...request, ...(sent ? { headers: sent } : {}) });
    const { location } = response.headers;
    if (response.status < 300 || response.status >= 400 || response.status === 304 || location === undefined) {
      return { kind: 'response', response, url };
    }
    response.body.destroy();
    const next = URL.parse(location, url.href);
    if (!next || (next.protocol !== url.protocol && next.protocol !== 'https:')) {
      return { kind: 'rejected', reason: 'redirected to another scheme' };
    }
    if (next.origin !== url.origin) sent = withoutCredentials(sent);
    url = next;
  }
  // No statement of who published the file: a portal does so to everybody who has not logged in.
  throw new Error('redirected too often');
}

const withoutCredentials = (headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'));

/**
 * The whole body; null when it is larger than `maxBytes`. Static hosts send a file that is stored compressed as it is, whatever the
 * request accepts: gzip is unpacked.
 */
export async function readBody({ headers, body }: HttpResponse, maxBytes: number): Promise<Uint8Array | null> {
  const compression = compressionOf(headers);
  if (!['', 'gzip', 'x-gzip'].includes(compression)) {
    body.destroy();
    throw new Error(`the server sends the content compressed (${compression.slice(0, 20)})`);
  }
  const bytes = await collectBytes(withoutTinyPieces(body), maxBytes);
  return bytes === null || compression === '' ? bytes : unpack(bytes, maxBytes);
}

async function* withoutTinyPieces(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const isTiny = countPieces();
  for await (const piece of body) {
    if (isTiny(piece.length)) throw new Error(tinyPiecesReason);
    yield piece;
  }
}

/** Pieces of a few bytes take the processor for as long as they come. No network has so small ones, but for a few. */
const leastPieceBytes = 16;
const mostTinyPieces = 1_000;

export const tinyPiecesReason = 'the server sends tiny pieces';

/** Takes the length of each piece of one answer; true as soon as they are too many for what they hold. */
export function countPieces(): (length: number) => boolean {
  let pieces = 0;
  let bytes = 0;
  return (length) => {
    pieces += 1;
    bytes += length;
    return pieces > mostTinyPieces + bytes / leastPieceBytes;
  };
}

const compressions = ['gzip', 'x-gzip', 'deflate', 'compress', 'x-compress', 'br', 'zstd'];

/**
 * How a body is compressed; empty: it is not. Stores of objects also name no coding, or the one of the upload (`aws-chunked`), for a file
 * that they send as it is.
 */
export const compressionOf = ({ 'content-encoding': codings = '' }: IncomingHttpHeaders): string =>
  codings
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((coding) => compressions.includes(coding))
    .join(', ');

async function unpack(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array | null> {
  const { gunzipSync } = await import('node:zlib');
  try {
    return gunzipSync(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') return null;
    throw error;
  }
}

/** Faults that a person can mend, by the error codes of Node and OpenSSL (X509_V_ERR_…). */
const explained: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'the certificate of the server has expired',
  CERT_NOT_YET_VALID: 'the certificate of the server is not valid yet; check the clock of the station',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate of the server is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate of the server comes from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate of the server comes from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate of the server comes from an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the server names another server',
  EPROTO: 'the server does not answer with TLS',
  ERR_INVALID_CHAR: 'a configured value contains a character that HTTP does not allow',
};

/** The code of a failed request (ECONNREFUSED, ENOENT …), explained where that helps, or what its innermost cause says. */
export function faultOf(error: unknown): string {
  let innermost = 'unknown fault';
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') {
      const words = ownValue(explained, at.code);
      return words === undefined ? at.code : `${words} (${at.code})`;
    }
    if (at.name === 'TimeoutError') return 'no answer in time';
    innermost = at.message.slice(0, 100) || at.name;
  }
  return innermost;
}
