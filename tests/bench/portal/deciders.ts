/**
 * A phone's conclusion from the answer to its probe: `portal`: the network requires a login; `online`: it has internet;
 * `broken`: it cannot be used.
 */
export type Verdict = 'portal' | 'online' | 'broken';

export type ProbeAnswer = {
  status: number;
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>;
  body: string;
  /** The IPv4 address to which the probe's name resolved. */
  resolvedTo: string;
  /**
   * The page at the redirect's target, requested in the same way, for platforms that follow redirects. Null: the
   * redirect has no usable target.
   */
  followed: { status: number; body: string } | null;
};

export type Decider = (answer: ProbeAnswer) => Verdict;

const isRedirect = ({ status, headers }: ProbeAnswer): boolean =>
  [301, 302, 303, 307, 308].includes(status) && headers.has('location');

/** An absolute http URL with a literal IPv4 address, because names cannot be trusted behind a portal. */
const leadsSomewhere = ({ headers }: ProbeAnswer): boolean =>
  /^http:\/\/\d+\.\d+\.\d+\.\d+(:\d+)?\//.test(headers.get('location') ?? '');

/**
 * AOSP (NetworkMonitor.sendHttpProbe, CaptivePortalProbeResult): 204 is internet. Any other status from 200 to 399 is a
 * portal, except a 200 with at most 4 bytes of content, which is a failure. Redirects are not followed.
 */
export const android: Decider = ({ status, headers, body }) => {
  if (status === 204) return 'online';
  if (status === 200) {
    const length = headers.get('content-length');
    if (length === undefined ? body.length === 0 : Number(length) <= 4) return 'broken';
  }
  return status >= 200 && status <= 399 ? 'portal' : 'broken';
};

/**
 * As {@link android}, on phones whose maker configured that a probe resolving to a private address is neither internet
 * nor a portal.
 */
export const androidWithoutPrivate: Decider = (answer) =>
  /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)/.test(answer.resolvedTo) ? 'broken' : android(answer);

/** The captive network assistant follows redirects. A page with the title and text "Success" is internet. */
export const apple: Decider = (answer) => {
  const last = isRedirect(answer) ? answer.followed : answer;
  if (last === null || last.status !== 200) return 'broken';
  return /<title>\s*success\s*<\/title>/i.test(last.body) || /^\s*success\s*$/i.test(last.body) ? 'online' : 'portal';
};

/** NCSI: exactly the expected text is internet. A redirect or any other page is a portal. */
export const windows =
  (expected: string): Decider =>
  (answer) => {
    if (answer.status === 200) return answer.body === expected ? 'online' : 'portal';
    return isRedirect(answer) && leadsSomewhere(answer) ? 'portal' : 'broken';
  };

/** A page that Windows or a person opens in the browser: the request must end on a page. */
export const browser: Decider = (answer) => {
  if (!isRedirect(answer) || !leadsSomewhere(answer)) return 'broken';
  return answer.followed?.status === 200 && answer.followed.body.includes('<form') ? 'portal' : 'broken';
};

/** shill (portal_detector): 204 or an empty 200 is internet. A redirect to a valid URL is a portal. */
export const chromeOs: Decider = (answer) => {
  if (answer.status === 204) return 'online';
  if (answer.status === 200) return answer.body.length <= 1 ? 'online' : 'portal';
  return isRedirect(answer) && leadsSomewhere(answer) ? 'portal' : 'broken';
};

/** CaptiveDetect: the expected text is internet. A redirect or a page with another text is a portal. */
export const firefox =
  (expected: string): Decider =>
  ({ status, body }) => {
    if (status >= 200 && status <= 299) return body.trim() === expected ? 'online' : 'portal';
    return (status >= 300 && status <= 399) || status === 511 ? 'portal' : 'broken';
  };

/**
 * nm-connectivity: the header, or a body with the expected beginning, is internet. When nothing is expected, 204 and an
 * empty 200 are. 511, any redirect, and a 200 with another text are a portal. Redirects are not followed.
 */
export const networkManager =
  (expected: string): Decider =>
  ({ status, headers, body }) => {
    if (headers.get('x-networkmanager-status') === 'online') return 'online';
    if (status === 511 || (status >= 300 && status <= 399)) return 'portal';
    if (expected === '') return status === 204 || (status === 200 && body === '') ? 'online' : 'portal';
    if (status !== 200) return 'broken';
    return body.startsWith(expected) ? 'online' : 'portal';
  };

/** Kindle and Fire: a fixed id in the page is internet. Redirects are followed. */
export const kindle: Decider = (answer) => {
  const last = isRedirect(answer) ? answer.followed : answer;
  if (last === null || last.status !== 200) return 'broken';
  return last.body.includes('81ce4465-7167-4dcb-835b-dcc9e44c112a') ? 'online' : 'portal';
};
