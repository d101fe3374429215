import { createReadStream } from 'node:fs';
import { readRetryAfter } from '@station/kit/retry-after';
import type { Fetched } from '../core/signature.ts';
import type { ProbeAnswer } from '../stack/stack-ports.ts';
import { collect, faultOf, followRedirects, type HttpResponse, readBody, webPageReason } from './http-request.ts';

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
    const followed = await followRedirects(address, { headers, signal });
    if (followed.kind === 'rejected') return followed;
    return await readAnswer(followed.response, followed.url, options.maxBytes);
  } catch (error) {
    options.signal.throwIfAborted();
    return { kind: 'unavailable', reason: faultOf(error) };
  }
}

async function readAnswer(response: HttpResponse, url: URL, maxBytes: number): Promise<Fetched> {
  const { status, headers, body } = response;
  if (status !== 200) {
    body.destroy();
    if (status === 304) return { kind: 'not_modified' };
    const missing = status === 404 || status === 410;
    const retryAfterMs = readRetryAfter(headers['retry-after'], Date.now());
    return {
      kind: 'unavailable',
      reason: `the server answered ${status}`,
      ...(missing ? { missing } : {}),
      ...(retryAfterMs === null ? {} : { retryAfterMs }),
    };
  }
  const bytes = await readBody(response, maxBytes);
  if (bytes === null) return { kind: 'rejected', reason: `larger than ${maxBytes} bytes` };
  if (isWebPage(bytes)) return { kind: 'unavailable', reason: webPageReason };
  return { kind: 'ok', bytes, etag: headers.etag ?? null, url: url.href };
}

/** A network that asks for a log-in answers every address with its page (RFC 6585, section 6). No file that is fetched here begins so. */
const isWebPage = (bytes: Uint8Array): boolean => /^\s*</.test(new TextDecoder().decode(bytes.subarray(0, 256)));

async function readLocal(address: URL, maxBytes: number): Promise<Fetched> {
  try {
    const bytes = await collect(createReadStream(address) as AsyncIterable<Uint8Array>, maxBytes);
    if (bytes === null) return { kind: 'rejected', reason: `larger than ${maxBytes} bytes` };
    return { kind: 'ok', bytes, etag: null, url: address.href };
  } catch (error) {
    const reason = faultOf(error);
    return { kind: 'unavailable', reason, ...(reason === 'ENOENT' ? { missing: true } : {}) };
  }
}

/** Long enough for a proxy that holds the request while the backend starts. */
const timeoutMs = 5000;

const maxHealthBytes = 4 * 1024;
/** Words of the backend, such as "disk full"; nothing else gets into logs and answers. */
const reasonWords = /^[a-z/ -]{1,40}$/;

/** Which checks fail and why, as `BackendHealth` says it: " (database: disk full)"; empty when the answer does not. */
async function reasonsOf(response: HttpResponse): Promise<string> {
  const bytes = await readBody(response, maxHealthBytes);
  const body = JSON.parse(new TextDecoder().decode(bytes ?? new Uint8Array())) as { reasons?: object } | null;
  const reasons = Object.entries(body?.reasons ?? {}).filter(
    (entry): entry is [string, string] => reasonWords.test(entry[0]) && reasonWords.test(String(entry[1])),
  );
  return reasons.length === 0 ? '' : ` (${reasons.map(([check, why]) => `${check}: ${why}`).join(', ')})`;
}

/** One request to the health check address: 2xx passes. Throws only when the caller aborts. */
export function createHttpProbe(url: URL): (signal: AbortSignal) => Promise<ProbeAnswer> {
  return async (signal) => {
    try {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const followed = await followRedirects(url, { signal: bounded, headers: { accept: 'application/json' } });
      if (followed.kind === 'rejected') return { ok: false, status: null, reason: followed.reason };
      const { status, body } = followed.response;
      const ok = status >= 200 && status < 300;
      const why = ok ? '' : await reasonsOf(followed.response).catch(() => '');
      body.destroy();
      return { ok, status, reason: ok ? null : `the health check answered ${status}${why}` };
    } catch {
      signal.throwIfAborted();
      return { ok: false, status: null, reason: 'the health check did not answer' };
    }
  };
}
