const mostRedirects = 5;

export type Followed<T> = { kind: 'answer'; answer: T; url: URL } | { kind: 'rejected'; reason: string };

/**
 * Asks at an address and follows redirects to the same scheme or to https, and no others (contracts, section 1).
 * @param ask one request; `location` of its answer as the server wrote it.
 * @param leave ends an answer whose body nobody reads.
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
