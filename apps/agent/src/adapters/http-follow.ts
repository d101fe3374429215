const mostRedirects = 5;

export type Followed = { kind: 'answer'; response: Response; url: URL } | { kind: 'rejected'; reason: string };

/**
 * A GET by http or https that follows redirects to the same scheme or to https, and no others (contracts, section 1).
 * @throws what fetch throws; `faultOf` says it in a word.
 */
export async function fetchFollowing(
  address: URL,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Followed> {
  let url = address;
  for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
    const response = await fetch(url, { headers, signal, redirect: 'manual' });
    const isRedirect = response.status >= 300 && response.status < 400 && response.status !== 304;
    const location = isRedirect ? response.headers.get('location') : null;
    if (location === null) return { kind: 'answer', response, url };
    await response.body?.cancel();
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
