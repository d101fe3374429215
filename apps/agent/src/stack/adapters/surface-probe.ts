import { parseJson } from '@station/kit/json';
import { HeardDevices } from '@station/protocol/devices';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { type BackendAddress, isOk, jsonPost, sendToBackend } from '../../core/adapters/backend-request.ts';
import { type HttpRequest, type HttpResponse, readBody, sendRequest } from '../../core/adapters/http-request.ts';
import type { PageReading, SurfaceProbe } from '../surface-ports.ts';
import { probeSocket } from './socket-probe.ts';
import { readPage } from './web-page.ts';

/** Long enough for a proxy that holds the request while the backend starts. */
const requestMs = 5000;
/** A page of hundreds of files on a slow card. */
const pageMs = 30_000;
const maxAnswerBytes = 1024 * 1024;

/** A log-in that nobody has: the backend refuses it after it has looked the account up and hashed the password. */
const nobody = { email: 'health-check@station.invalid', password: 'nobody has this password' };

/** Of `SetupState`, what an older or newer release answers too. */
const SetupAnswer = Type.Object({ needed: Type.Boolean() });

type Parts = {
  /** What answers the health check serves the page too. */
  healthUrl: URL;
  backend: BackendAddress;
};

const slowPage: PageReading = { kind: null, fault: 'the page takes too long' };

type Answer = { status: number; body: unknown };

/** Asks what people and devices ask: through the proxy, at the origin of the health check address (contracts, section 5a). */
export function createSurfaceProbe({ healthUrl, backend }: Parts): SurfaceProbe {
  const at = (path: string): URL => new URL(path, healthUrl.origin);
  const readStart = (signal: AbortSignal, depth: 'first' | 'all'): Promise<PageReading> => {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(pageMs)]);
    return orElse(slowPage, signal, () => readPage(at('/'), { signal: bounded, depth }));
  };
  return {
    look: {
      page: (signal) => readStart(signal, 'all'),
      socket: (signal) => probeSocket(at('/ws'), signal),
      setup: async (signal) => {
        const { status, body } = await ask(at('/api/auth/setup'), {}, signal);
        return isOk(status) && Value.Check(SetupAnswer, body) ? body.needed : null;
      },
      logIn: async (signal) => (await ask(at('/api/auth/login'), jsonPost(nobody), signal)).status,
      devices: (signal) => readHeard(backend, signal),
    },
    startPage: (signal) => readStart(signal, 'first'),
  };
}

/** Status 0: no answer in time. */
async function ask(url: URL, request: Omit<HttpRequest, 'signal'>, signal: AbortSignal): Promise<Answer> {
  const none = { status: 0, body: null };
  return orElse(none, signal, async () => {
    const headers = { accept: 'application/json', ...request.headers };
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(requestMs)]);
    const response = await sendRequest(url, { ...request, headers, signal: bounded });
    return { status: response.status, body: await readJson(response) };
  });
}

/** None when the backend does not tell: it is older, or the token is missing. */
async function readHeard(backend: BackendAddress, signal: AbortSignal): Promise<string[]> {
  return orElse([], signal, async () => {
    const response = await sendToBackend(backend, 'api/agent/devices', {}, signal);
    const body = await readJson(response);
    return isOk(response.status) && Value.Check(HeardDevices, body) ? body.heard : [];
  });
}

async function readJson(response: HttpResponse): Promise<unknown> {
  const bytes = await readBody(response, maxAnswerBytes);
  response.body.destroy();
  return parseJson(Buffer.from(bytes ?? []).toString('utf8')) ?? null;
}

/** @throws only the reason of the signal. */
async function orElse<T>(fallback: T, signal: AbortSignal, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch {
    signal.throwIfAborted();
    return fallback;
  }
}
