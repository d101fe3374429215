import { parseJson } from '@station/kit/json';
import { Value } from 'typebox/value';
import { type AnnouncedDeviceTypes, OtaDeviceTypes } from '@station/protocol/firmware';
import type { BackendFailure, OtaBackend } from '../firmware-ports.ts';
import {
  type BackendAddress,
  isOk,
  jsonPost,
  reasonOf,
  sendToBackend,
  silenceOf,
} from '../../core/adapters/backend-request.ts';
import { type HttpRequest, type HttpResponse, readBody } from '../../core/adapters/http-request.ts';

const maxBytes = 1024 * 1024;

/** The backend's routes for the agent under /api/ota (contracts, section 9), by http with BACKEND_AGENT_TOKEN. */
export function createOtaBackend(backend: BackendAddress): OtaBackend {
  const ask = async <T>(
    path: string,
    { headers, ...request }: Omit<HttpRequest, 'signal'>,
    signal: AbortSignal,
    read: (response: HttpResponse) => Promise<T>,
  ): Promise<T | BackendFailure> => {
    try {
      const asked = { ...request, headers: { accept: 'application/json', ...headers } };
      const response = await sendToBackend(backend, `api/ota/${path}`, asked, signal);
      if (isOk(response.status)) return await read(response);
      response.body.destroy();
      return { kind: 'failed', status: response.status, reason: reasonOf(response.status, backend.agentToken) };
    } catch (error) {
      signal.throwIfAborted();
      return { kind: 'failed', reason: silenceOf(error) };
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

async function readJson(response: HttpResponse): Promise<unknown> {
  const bytes = await readBody(response, maxBytes);
  return parseJson(Buffer.from(bytes ?? []).toString('utf8')) ?? null;
}
