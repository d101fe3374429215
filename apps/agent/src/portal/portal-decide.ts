import { isLanguage, type Language } from '@station/protocol/languages';

/** The portal's address, as clients write it. Port 80 is left out. */
export type Place = { address: string; port: number };

/** Facts of a request before its body is read. Header values are unchanged; null: no such header. */
export type RequestFacts = {
  method: string;
  /** The request target: a path with query, or a whole URL as a proxy gets it (RFC 9112, 3.2). */
  target: string;
  host: string | null;
  origin: string | null;
  contentType: string | null;
  userAgent: string | null;
  accept: string | null;
};

export type Answer =
  /** Redirects to the page, always with the same response: so a phone detects a captive portal. */
  | { kind: 'redirect' }
  | { kind: 'page'; query: URLSearchParams; byPerson: boolean }
  /** The page while a search goes on. */
  | { kind: 'searching'; query: URLSearchParams; byPerson: boolean }
  /** One word for the script of the waiting page. */
  | { kind: 'state' }
  /** Needs its form first. `show` renders the page again with a readable password field. */
  | { kind: 'form'; action: 'join' | 'search' | 'show' }
  | { kind: 'nothing' }
  | { kind: 'refused'; reason: 'origin' | 'content_type' };

/** The address in a URL and in a Host header. */
export const authorityOf = ({ address, port }: Place): string => (port === 80 ? address : `${address}:${port}`);

const actions = { '/join': 'join', '/search': 'search', '/show': 'show' } as const;
/** What browsers request automatically. */
const iconPaths = /^\/(favicon\.ico|apple-touch-icon[^/]*\.png|\.well-known\/.*|robots\.txt)$/;

/**
 * Which response a request gets. DNS resolves every name to this station, so a request for another host is a probe of the phone or
 * a page that cannot be reached: both are redirected to the literal address. Only that address gets
 * the page, so the host name of a foreign web page (DNS rebinding) opens nothing.
 */
export function decide(request: RequestFacts, place: Place): Answer {
  const authority = authorityOf(place);
  const url = URL.parse(request.target, `http://${request.host ?? ''}`);
  if (url === null || url.protocol !== 'http:' || url.host !== authority) return { kind: 'redirect' };
  if (request.method === 'POST') return decidePost(request, url.pathname, `http://${authority}`);
  if (request.method !== 'GET' && request.method !== 'HEAD') return { kind: 'redirect' };
  const byPerson = isByPerson(request);
  if (url.pathname === '/') return { kind: 'page', query: url.searchParams, byPerson };
  if (url.pathname === '/searching') return { kind: 'searching', query: url.searchParams, byPerson };
  if (url.pathname === '/state') return { kind: 'state' };
  return iconPaths.test(url.pathname) ? { kind: 'nothing' } : { kind: 'redirect' };
}

/**
 * A page of another site must not submit the form. Browsers send the origin of a form; some older ones do not, and a page of another
 * site cannot leave it out in the others. `null` is foreign: a sandboxed frame of any site sends it (HTML standard, "origin"), and our
 * own page does not, because its Referrer-Policy lets its origin through.
 */
function decidePost(request: RequestFacts, path: string, ownOrigin: string): Answer {
  if (!Object.hasOwn(actions, path)) return { kind: 'redirect' };
  const { origin, contentType } = request;
  if (origin !== null && origin.toLowerCase() !== ownOrigin) return { kind: 'refused', reason: 'origin' };
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type !== undefined && type !== 'application/x-www-form-urlencoded')
    return { kind: 'refused', reason: 'content_type' };
  return { kind: 'form', action: actions[path as keyof typeof actions] };
}

/**
 * True for a visit by a person, not for an automatic probe: a browser asks for HTML, and a followed probe names
 * itself. The hotspot stays while a person uses the page.
 */
function isByPerson({ accept, userAgent }: RequestFacts): boolean {
  if (/CaptiveNetworkSupport|Microsoft NCSI|NetworkManager/i.test(userAgent ?? '')) return false;
  return /text\/html/i.test(accept ?? '');
}

/**
 * The language of the page.
 * @param chosen the language from the page's switch, in the address or the form; wins when it is supported.
 * @param accepted Accept-Language (RFC 9110, 12.5.4): the supported language with the highest weight, else English.
 */
export function pickLanguage(chosen: string | null | undefined, accepted: string | null | undefined): Language {
  if (chosen && isLanguage(chosen)) return chosen;
  let best: { language: Language; weight: number } | null = null;
  for (const part of (accepted ?? '').split(',').slice(0, 50)) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const language = range === '*' ? 'en' : (range.split('-')[0] ?? '');
    const weight = weightOf(parameters);
    if (isLanguage(language) && weight > (best?.weight ?? 0)) best = { language, weight };
  }
  return best?.language ?? 'en';
}

function weightOf(parameters: readonly string[]): number {
  const text = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (text === undefined) return 1;
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}
