import { request as httpRequest, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { collectBytes } from '@station/kit/collect-bytes';
import { responseOf } from '@station/kit/response-of';
import { StationError } from '@station/kit/station-error';

/** An answer of the agent, whatever its status: refusals are answers too. */
export type AgentAnswer = { statusCode: number; body: unknown };

export type AgentClient = {
  /** False: this backend has no agent, and every call fails as unreachable. */
  isConfigured: boolean;
  /**
   * One call of the agent's API (contracts, section 4).
   * @param timeoutMs for the whole exchange.
   * @throws StationError agent_unreachable when there is no answer in time, none that is JSON, or none at all.
   */
  call(method: 'GET' | 'POST', path: string, options: { timeoutMs: number; body?: unknown }): Promise<AgentAnswer>;
  /**
   * Server-sent events of the agent as they come, not decoded; reading slowly slows the agent's writing.
   * The stream ends with an error when the link breaks or `signal` aborts.
   * @throws StationError agent_unreachable.
   */
  openStream(path: string, signal: AbortSignal): Promise<IncomingMessage>;
};

/** Time until the head of the answer to an event stream. */
const connectTimeoutMs = 5_000;
/** The agent writes at least a comment every 15 s: after this much silence the link is dead. */
const eventsIdleMs = 60_000;
/** A full /status with its history is some tens of kilobytes. */
const maxAnswerBytes = 4 * 1024 * 1024;

/**
 * HTTP to the agent, over its Unix socket or TCP.
 * @param target null when none is configured: every call then fails as unreachable.
 */
export function createAgentClient(target: AgentTarget | null, token: string | null): AgentClient {
  const start = (method: string, path: string, options: { body?: string; signal: AbortSignal }): ClientRequest => {
    if (target === null) throw unreachable('No agent is configured for this backend.');
    const headers: Record<string, string> = { host: 'localhost', accept: 'application/json, text/event-stream' };
    if (token !== null) headers['authorization'] = `Bearer ${token}`;
    if (options.body !== undefined) {
      headers['content-type'] = 'application/json';
      headers['content-length'] = String(Buffer.byteLength(options.body));
    }
    const common: RequestOptions = { method, path, headers, signal: options.signal, agent: false };
    if (target.kind === 'socket') return httpRequest({ ...common, socketPath: target.path });
    const { hostname, port, protocol, host } = new URL(target.url);
    const request = protocol === 'https:' ? httpsRequest : httpRequest;
    return request({
      ...common,
      headers: { ...headers, host },
      hostname,
      port: port === '' ? undefined : Number(port),
    });
  };

  return {
    isConfigured: target !== null,
    call: async (method, path, { timeoutMs, body }) => {
      const text = method === 'POST' ? JSON.stringify(body ?? {}) : undefined;
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        const request = start(method, path, { signal, ...(text === undefined ? {} : { body: text }) });
        request.end(text);
        const response = await responseOf(request);
        return { statusCode: response.statusCode ?? 0, body: JSON.parse(await readText(response)) as unknown };
      } catch (error) {
        throw asUnreachable(error);
      }
    },
    openStream: async (path, signal) => {
      const early = new AbortController();
      const timer = setTimeout(() => early.abort(new Error('no answer in time')), connectTimeoutMs);
      try {
        const request = start('GET', path, { signal: AbortSignal.any([signal, early.signal]) });
        // Otherwise a half-open TCP connection would never end.
        request.setSocketKeepAlive(true, 30_000);
        request.end();
        const response = await responseOf(request);
        if (response.statusCode === 200) {
          response.setTimeout(eventsIdleMs, () => response.destroy(new Error('The agent fell silent')));
          return response;
        }
        response.destroy();
        throw unreachable(`The agent answered ${response.statusCode} when asked for a stream.`);
      } catch (error) {
        throw asUnreachable(error);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

async function readText(response: IncomingMessage): Promise<string> {
  const bytes = await collectBytes(response, maxAnswerBytes);
  if (bytes === null) throw new Error('the answer is too long');
  return bytes.toString('utf8');
}

const unreachable = (message: string, cause?: unknown): StationError =>
  new StationError('agent_unreachable', message, cause === undefined ? {} : { cause });

function asUnreachable(error: unknown): StationError {
  if (error instanceof StationError) return error;
  return unreachable('The agent of this station does not answer. It may be restarting.', error);
}

export type AgentTarget = { kind: 'socket'; path: string } | { kind: 'tcp'; url: string };
