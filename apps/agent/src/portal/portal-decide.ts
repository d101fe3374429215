/** Where the portal is reached, as its clients write it. Port 80 is never written. */
export type Place = { address: string; port: number };

/** What a request says about itself, before its body is read. Header values as they came; null: there is none. */
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
  /** To the page, always with the same words: how a phone learns that this network wants something of its owner. */
  | { kind: 'redirect' }
  | { kind: 'page'; query: URLSearchParams; byPerson: boolean }
  /** The page while a search goes on. */
  | { kind: 'searching'; query: URLSearchParams; byPerson: boolean }
  /** One word for the script of the page that waits. */
  | { kind: 'state' }
  /** With a form to be read first. `show` draws the page again with a password that can be read while it is typed. */
  | { kind: 'form'; action: 'join' | 'search' | 'show' }
  | { kind: 'nothing' }
  | { kind: 'refused'; reason: 'origin' | 'content_type' };

/** How the place is written in a URL and in a Host header. */
export const authorityOf = ({ address, port }: Place): string => (port === 80 ? address : `${address}:${port}`);

const actions = { '/join': 'join', '/search': 'search', '/show': 'show' } as const;
/** What browsers ask for by themselves. */
const iconPaths = /^\/(favicon\.ico|apple-touch-icon[^/]*\.png|\.well-known\/.*|robots\.txt)$/;

/**
 * Which answer a request gets. Every name leads here by DNS, so a request that names another host is a probe of the phone, or
 * somebody's page that cannot be reached: both are led to the page at its literal address. Only that address is answered with
 * the page, so a name that a foreign web page owns (DNS rebinding) opens nothing.
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
 * A page of another site must not fill in the form. Browsers name the origin of a form; some sheets and older ones do not, or say
 * `null`: they are let in, for whoever is near enough to use that could join the hotspot and fill in the form themselves.
 */
function decidePost(request: RequestFacts, path: string, ownOrigin: string): Answer {
  if (!Object.hasOwn(actions, path)) return { kind: 'redirect' };
  const { origin, contentType } = request;
  if (origin !== null && origin !== 'null' && origin.toLowerCase() !== ownOrigin)
    return { kind: 'refused', reason: 'origin' };
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type !== undefined && type !== 'application/x-www-form-urlencoded')
    return { kind: 'refused', reason: 'content_type' };
  return { kind: 'form', action: actions[path as keyof typeof actions] };
}

/**
 * True when somebody looks, not the phone by itself: a browser's visit asks for HTML, and what follows a probe to its end names
 * itself. On a person in front of the page the hotspot waits.
 */
function isByPerson({ accept, userAgent }: RequestFacts): boolean {
  if (/CaptiveNetworkSupport|Microsoft NCSI|NetworkManager/i.test(userAgent ?? '')) return false;
  return /text\/html/i.test(accept ?? '');
}

export const languages = ['en', 'uk'] as const;
export type Language = (typeof languages)[number];

const isLanguage = (text: string): text is Language => (languages as readonly string[]).includes(text);

/**
 * The language of the page.
 * @param chosen what the switch of the page has put into the address or the form; wins when it is one of ours.
 * @param accepted Accept-Language (RFC 9110, 12.5.4): the one with the highest weight that is ours, English without one.
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
