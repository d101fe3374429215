import { createReadStream } from 'node:fs';
import { collectBytes } from '@station/kit/collect-bytes';
import { readRetryAfter } from '@station/kit/retry-after';
import type { Fetched } from '../signature.ts';
import { faultOf, followRedirects, type HttpResponse, readBody, webPageReason } from './http-request.ts';

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
  if (!isManifestOrSignature(bytes))
    return { kind: 'unavailable', reason: isWebPage(bytes) ? webPageReason : foreignReason };
  return { kind: 'ok', bytes, etag: headers.etag ?? null, url: url.href };
}

const foreignReason = 'something else came instead of the file, from the server or from what is in front of it';

/** How every file begins that is fetched here: JSON, and the signature of it. All else is no statement of the publisher. */
const isManifestOrSignature = (bytes: Uint8Array): boolean => /^\s*(?:[{[]|untrusted comment:)/.test(headOf(bytes));

/** A network that asks for a log-in answers every address with its page (RFC 6585, section 6). */
const isWebPage = (bytes: Uint8Array): boolean => /^\s*</.test(headOf(bytes));
const headOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes.subarray(0, 256));

async function readLocal(address: URL, maxBytes: number): Promise<Fetched> {
  try {
    const bytes = await collectBytes(createReadStream(address) as AsyncIterable<Uint8Array>, maxBytes);
    if (bytes === null) return { kind: 'rejected', reason: `larger than ${maxBytes} bytes` };
    return { kind: 'ok', bytes, etag: null, url: address.href };
  } catch (error) {
    const reason = faultOf(error);
    return { kind: 'unavailable', reason, ...(reason === 'ENOENT' ? { missing: true } : {}) };
  }
}
