import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { DestinationFault } from '../../core/backup-destination.ts';
import { AnswerRefusedError, limitedFetch } from './limited-fetch.ts';
import { answerTo, type Authorise, basic, type WebdavLogin } from './webdav-login.ts';

const mostRedirects = 3;
/** Of OpenCloud and ownCloud Infinite Scale: they still work on the file that was uploaded, and look for viruses in it. */
const tooEarly = 425;
const betweenEarlyMs = 1_000;
/** All of them fit into the time of a call. */
const mostEarly = 25;

export type WebdavRequest = {
  headers?: Readonly<Record<string, string>>;
  /** A new one each time: a request is repeated when the server wants another log-in. */
  body?: { open: () => Readable; bytes: number } | string;
  signal: AbortSignal;
};
/** @throws DestinationFault redirected; AnswerRefusedError; or the error of `fetch`. Any status is an answer. */
export type Webdav = (method: string, url: URL, request: WebdavRequest) => Promise<Response>;

/** Requests to one server, with Basic or Digest authentication as it asks for. Nothing is sent to another origin, and no log-in. */
export function createWebdavClient(login: WebdavLogin, { isSecure }: { isSecure: boolean }): Webdav {
  const hasLogin = login.username !== '';
  // Without TLS a password is sent only to a server that takes nothing better.
  let authorise: Authorise | null = hasLogin && isSecure ? basic(login) : null;
  const sendOnce = (method: string, url: URL, { headers, body, signal }: WebdavRequest): Promise<Response> => {
    const isText = typeof body === 'string';
    return limitedFetch(url, {
      method,
      signal,
      headers: {
        ...headers,
        // No answer is compressed, and no body is sent in chunks: several servers refuse both.
        'accept-encoding': 'identity',
        ...(body === undefined || isText ? {} : { 'content-length': String(body.bytes) }),
        ...(authorise === null ? {} : { authorization: authorise.header(method, `${url.pathname}${url.search}`) }),
      },
      body: body === undefined || isText ? body : body.open(),
    });
  };
  const sendWithLogin: Webdav = async (method, url, request) => {
    const response = await sendOnce(method, url, request);
    if (response.status !== 401 || !hasLogin) return response;
    const next = answerTo(response.headers.get('www-authenticate'), login);
    // The same again would be refused again; a digest may only be too old.
    if (next === null || (next.kind === 'basic' && authorise?.kind === 'basic')) return response;
    authorise = next;
    return sendOnce(method, url, request);
  };
  const sendWhenReady: Webdav = async (method, url, request) => {
    for (let tries = 1; ; tries++) {
      const response = await sendWithLogin(method, url, request);
      if (response.status !== tooEarly || tries === mostEarly) return response;
      await pause(betweenEarlyMs, undefined, { signal: request.signal });
    }
  };
  return async (method, url, request) => {
    let target = url;
    for (let redirects = 0; ; redirects++) {
      const response = await sendWhenReady(method, target, request);
      const location = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null;
      if (location === null) return response;
      const next = URL.parse(location, target);
      if (next === null || next.origin !== target.origin) throw new DestinationFault('redirected');
      if (redirects === mostRedirects) throw new AnswerRefusedError('The server redirects without an end');
      target = next;
    }
  };
}
