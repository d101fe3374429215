import { parseJson } from '@station/kit/json';
import { Value } from 'typebox/value';
import { type AnnouncedDeviceTypes, OtaDeviceTypes } from '@station/protocol/firmware';
import type { AgentSettings } from '@station/protocol/rest';
import type { BackendFailure, OtaBackend } from '../firmware/firmware-ports.ts';
import type { CredentialsBackend } from '../wifi/wifi-ports.ts';
import { faultOf, type HttpRequest, type HttpResponse, readBody, sendRequest } from './http-request.ts';

const timeoutMs = 10_000;
const maxBytes = 1024 * 1024;

/** The backend's routes for the agent under /api/ota (contracts, section 9), by http with BACKEND_AGENT_TOKEN. */
export function createOtaBackend({ url, agentToken }: { url: URL; agentToken: string | null }): OtaBackend {
  const base = url.href.endsWith('/') ? url.href : `${url.href}/`;
  const ask = async <T>(
    path: string,
    { headers, ...request }: Omit<HttpRequest, 'signal'>,
    signal: AbortSignal,
    read: (response: HttpResponse) => Promise<T>,
  ): Promise<T | BackendFailure> => {
    try {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      // Redirects are not followed: the token would go to another server.
      const response = await sendRequest(new URL(`api/ota/${path}`, base), {
        ...request,
        headers: { accept: 'application/json', ...authorization(agentToken), ...headers },
        signal: bounded,
      });
      if (isOk(response.status)) return await read(response);
      response.body.destroy();
      return { kind: 'failed', status: response.status, reason: reasonOf(response.status, agentToken) };
    } catch (error) {
      signal.throwIfAborted();
      return { kind: 'failed', reason: `the backend does not answer (${faultOf(error)})` };
    }
  };
  const post = (path: string, body: unknown, signal: AbortSignal): Promise<{ kind: 'ok' } | BackendFailure> => {
    return ask(path, jsonPost(body), signal, async (response) => {
      response.body.destroy();
      return { kind: 'ok' } as const;
    });
  };
  return {
    deviceTypes: (signal) =>
      ask('device-types', {}, signal, async (response) => {
        const body = await readJson(response);
        if (Value.Check(OtaDeviceTypes, body)) return { kind: 'ok', types: body } as const;
        return { kind: 'failed', reason: 'the backend answers something else than device types' } as const;
      }),
    firmwareReady: (firmware, signal) => post('firmware-ready', firmware, signal),
    announceTypes: async (types, signal) => {
      for (const part of inParts(types)) {
        const answer = await post('device-types', { types: part } satisfies AnnouncedDeviceTypes, signal);
        if (answer.kind === 'failed' && answer.status === 404) return { kind: 'ok' };
        if (answer.kind === 'failed') return answer;
      }
      return { kind: 'ok' };
    },
  };
}

/** The backend takes bodies of 256 KiB. */
const maxPartBytes = 128 * 1024;
const maxPartLength = 200;

function inParts(types: readonly unknown[]): unknown[][] {
  const parts: unknown[][] = [];
  let bytes = Infinity;
  for (const type of types) {
    const own = Buffer.byteLength(JSON.stringify(type));
    bytes += own;
    if (bytes > maxPartBytes || (parts.at(-1)?.length ?? 0) >= maxPartLength) {
      parts.push([]);
      bytes = own;
    }
    parts.at(-1)?.push(type);
  }
  return parts;
}

const isOk = (status: number): boolean => status >= 200 && status < 300;

const jsonPost = (body: unknown) =>
  ({ method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }) as const;

const authorization = (token: string | null): Record<string, string> =>
  token === null ? {} : { authorization: `Bearer ${token}` };

function reasonOf(status: number, token: string | null): string {
  if (status === 401 || status === 403) {
    return token === null ? 'the backend asks for BACKEND_AGENT_TOKEN' : 'the backend refuses BACKEND_AGENT_TOKEN';
  }
  return `the backend answered ${status}`;
}

async function readJson(response: HttpResponse): Promise<unknown> {
  const bytes = await readBody(response, maxBytes);
  return parseJson(Buffer.from(bytes ?? []).toString('utf8')) ?? null;
}

/** Refusals that may change later or with another token. */
const passing = new Set([401, 403, 408, 429]);

/**
 * Sends the backend the credentials of the joined Wi-Fi: `POST /api/settings/agent` with BACKEND_AGENT_TOKEN (contracts, section 9).
 * Reasons contain neither the token nor any sent value.
 */
export function createSettingsBackend(backend: { url: URL; agentToken: string | null }): CredentialsBackend {
  const { url, agentToken } = backend;
  const address = new URL('api/settings/agent', url.href.endsWith('/') ? url : `${url.href}/`);
  return {
    send: async ({ ssid, password, security }, signal) => {
      const body: AgentSettings = {
        wifi: { ssid, password: password ?? '', ...(security === null ? {} : { security }) },
      };
      try {
        const { headers, ...post } = jsonPost(body);
        // Redirects are not followed: the token and the password would go to another server.
        const response = await sendRequest(address, {
          ...post,
          headers: { ...headers, ...authorization(agentToken) },
          signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        });
        response.body.destroy();
        return judge(response.status, agentToken);
      } catch (error) {
        signal.throwIfAborted();
        return { kind: 'failed', reason: `the backend does not answer (${faultOf(error)})` };
      }
    },
  };
}

function judge(status: number, token: string | null): Awaited<ReturnType<CredentialsBackend['send']>> {
  if (isOk(status)) return { kind: 'accepted' };
  const isRefused = status >= 400 && status < 500 && !passing.has(status);
  return { kind: isRefused ? 'refused' : 'failed', reason: reasonOf(status, token) };
}
