import { createReadStream } from 'node:fs';

export type Fetched =
  | { kind: 'ok'; bytes: Uint8Array; etag: string | null; url: string }
  | { kind: 'not_modified' }
  /** `rejected`: what came must not be used; `unavailable`: nothing came, later it may. Reasons name no secret and no path. */
  | { kind: 'rejected'; reason: string }
  | { kind: 'unavailable'; reason: string };

const totalTimeoutMs = 30_000;
const mostRedirects = 5;

/**
 * Fetches a small file whole, by https, http or file (contracts, section 1): conditional, bounded, redirects only to the same
 * scheme or to https. The connection must stand after 10 s, the whole must be there after 30 s.
 */
export async function fetchSmallFile(
  address: URL,
  options: { maxBytes: number; etag: string | null; signal: AbortSignal },
): Promise<Fetched> {
  if (address.protocol === 'file:') return readLocal(address, options.maxBytes);
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(totalTimeoutMs)]);
  let url = address;
  try {
    for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
      const headers: Record<string, string> = options.etag === null ? {} : { 'if-none-match': options.etag };
      const response = await fetch(url, { headers, signal, redirect: 'manual' });
      if (response.status === 304) return { kind: 'not_modified' };
      const location = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null;
      if (location === null) return await readAnswer(response, url, options.maxBytes);
      await response.body?.cancel();
      const next = URL.canParse(location, url) ? new URL(location, url) : null;
      if (!next || (next.protocol !== url.protocol && next.protocol !== 'https:')) {
        return { kind: 'rejected', reason: 'redirected to another scheme' };
      }
      url = next;
    }
    return { kind: 'rejected', reason: 'redirected too often' };
  } catch (error) {
    options.signal.throwIfAborted();
    return { kind: 'unavailable', reason: faultOf(error) };
  }
}

async function readAnswer(response: Response, url: URL, maxBytes: number): Promise<Fetched> {
  if (response.status !== 200) {
    await response.body?.cancel();
    return { kind: 'unavailable', reason: `the server answered ${response.status}` };
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
    return { kind: 'unavailable', reason: faultOf(error) };
  }
}

async function collect(
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

/** The code of a failed request (ECONNREFUSED, CERT_HAS_EXPIRED, ENOENT …), or what its innermost cause says. */
function faultOf(error: unknown): string {
  let innermost = 'unknown fault';
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    if (at.name === 'TimeoutError') return 'no answer in time';
    innermost = at.message.slice(0, 100) || at.name;
  }
  return innermost;
}
