import { faultOf, type HttpRequest, type HttpResponse, sendRequest } from './http-request.ts';

/** BACKEND_URL and BACKEND_AGENT_TOKEN. */
export type BackendAddress = { url: URL; agentToken: string | null };

const timeoutMs = 10_000;

/**
 * Sends a request to one of the backend's routes for the agent (contracts, section 9), with the token.
 * @param path below the backend's address, without a slash in front.
 * @throws (rejects) the fault of the connection; after 10 s a TimeoutError.
 */
export function sendToBackend(
  { url, agentToken }: BackendAddress,
  path: string,
  request: Omit<HttpRequest, 'signal'>,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const base = url.href.endsWith('/') ? url : `${url.href}/`;
  const authorization = agentToken === null ? {} : { authorization: `Bearer ${agentToken}` };
  // Redirects are not followed: the token and what is sent would go to another server.
  return sendRequest(new URL(path, base), {
    ...request,
    headers: { ...request.headers, ...authorization },
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
}

export const isOk = (status: number): boolean => status >= 200 && status < 300;

export const jsonPost = (body: unknown) =>
  ({ method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }) as const;

/** Why an answer is none that was asked for; without the token. */
export function reasonOf(status: number, token: string | null): string {
  if (status === 401 || status === 403) {
    return token === null ? 'the backend asks for BACKEND_AGENT_TOKEN' : 'the backend refuses BACKEND_AGENT_TOKEN';
  }
  return `the backend answered ${status}`;
}

/** Why there is no answer. */
export const silenceOf = (error: unknown): string => `the backend does not answer (${faultOf(error)})`;
