import type { Fetched } from '../core/signature.ts';
import { createReadStream } from 'node:fs';
import type { ProbeAnswer } from '../stack/stack-ports.ts';

const totalTimeoutMs = 30_000;

/**
 * Fetches a small file whole, by https, http or file (contracts, section 1): conditional, bounded, redirects only to the same
 * scheme or to https. The connection may take 10 s, the whole transfer 30 s.
 */
export async function fetchSmallFile(
  address: URL,
  options: { maxBytes: number; etag: string | null; signal: AbortSignal },
): Promise<Fetched> {
  if (address.protocol === 'file:') return readLocal(address, options.maxBytes);
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(totalTimeoutMs)]);
  const headers: Record<string, string> = options.etag === null ? {} : { 'if-none-match': options.etag };
  try {
    const followed = await follow(
      address,
      async (url) => {
        const response = await fetch(url, { headers, signal, redirect: 'manual' });
        return { status: response.status, location: response.headers.get('location'), response };
      },
      ({ response }) => response.body?.cancel(),
    );
    if (followed.kind === 'rejected') return followed;
    const { response } = followed.answer;
    if (response.status === 304) return { kind: 'not_modified' };
    return await readAnswer(response, followed.url, options.maxBytes);
  } catch (error) {
    options.signal.throwIfAborted();
    return { kind: 'unavailable', reason: faultOf(error) };
  }
}

async function readAnswer(response: Response, url: URL, maxBytes: number): Promise<Fetched> {
  if (response.status !== 200) {
    await response.body?.cancel();
    const reason = `the server answered ${response.status}`;
    const missing = response.status === 404 || response.status === 410;
    return { kind: 'unavailable', reason, ...(missing ? { missing } : {}) };
  }
  const bytes = await collect(response.body ?? [], maxBytes);
  if (bytes === null) return { kind: 'rejected', reason: `larger than ${maxBytes} bytes` };
  return { kind: 'ok', bytes, etag: response.headers.get('etag'), url: url.href };
}

async function readLocal(address: URL, maxBytes: number): Promise<Fetched> {
  try {
    const bytes = await collect(createReadStream(address), maxBytes);
    if (bytes === null) return { kind: 'rejected', reason: `larger than ${maxBytes} bytes` };
    return { kind: 'ok', bytes, etag: null, url: address.href };
  } catch (error) {
    const reason = faultOf(error);
    return { kind: 'unavailable', reason, ...(reason === 'ENOENT' ? { missing: true } : {}) };
  }
}

/** The whole body; null when it is larger than `maxBytes`. */
export async function collect(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    size += chunk.byteLength;
    if (size > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const mostRedirects = 5;

type Followed<T> = { kind: 'answer'; answer: T; url: URL } | { kind: 'rejected'; reason: string };

/**
 * Requests an address and follows redirects only to the same scheme or to https (contracts, section 1).
 * @param ask one request; `location` of its answer as the server wrote it.
 * @param leave ends a response whose body is not read.
 */
export async function follow<T extends { status: number; location: string | null }>(
  address: URL,
  ask: (url: URL) => Promise<T>,
  leave: (answer: T) => Promise<void> | void,
): Promise<Followed<T>> {
  let url = address;
  for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
    const answer = await ask(url);
    const { status, location } = answer;
    if (status < 300 || status >= 400 || status === 304 || location === null) return { kind: 'answer', answer, url };
    await leave(answer);
    const next = URL.canParse(location, url) ? new URL(location, url) : null;
    if (!next || (next.protocol !== url.protocol && next.protocol !== 'https:')) {
      return { kind: 'rejected', reason: 'redirected to another scheme' };
    }
    url = next;
  }
  return { kind: 'rejected', reason: 'redirected too often' };
}

/** The code of a failed request (ECONNREFUSED, CERT_HAS_EXPIRED, ENOENT …), or what its innermost cause says. */
export function faultOf(error: unknown): string {
  let innermost = 'unknown fault';
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    if (at.name === 'TimeoutError') return 'no answer in time';
    innermost = at.message.slice(0, 100) || at.name;
  }
  return innermost;
}

/** Long enough for a proxy that holds the request while the backend starts. */
const timeoutMs = 5000;

/** One request to the health check address: 2xx passes. Throws only when the caller aborts. */
export function createHttpProbe(url: URL): (signal: AbortSignal) => Promise<ProbeAnswer> {
  return async (signal) => {
    try {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const response = await fetch(url, { signal: bounded, headers: { accept: 'application/json' } });
      await response.body?.cancel();
      const { ok, status } = response;
      return { ok, status, reason: ok ? null : `the health check answered ${status}` };
    } catch {
      signal.throwIfAborted();
      return { ok: false, status: null, reason: 'the health check did not answer' };
    }
  };
}
