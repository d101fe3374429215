import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { createProxyServer } from 'http-proxy-3';
import { operationPath } from '@station/protocol/operation-file';
import { createApiPage } from './api-page.ts';
import { serveFirmware } from './firmware-files.ts';
import { HoldingAgent, holdMs, retryMs } from './holding-agent.ts';

export type Proxy = AsyncDisposable & { url: string };

const ofFirmware = /^\/firmware\/([^?]*)/;
const toBackend = /^\/(api|ws|provisioning)(\/|\?|$)/;

/**
 * Replaces the stack's reverse proxy on loopback: `/api`, `/ws` and `/provisioning` go to the backend, `/firmware` to the
 * firmware cache, `/operation.json` is the agent's file, the rest goes to the frontend. Requests are held while a service restarts.
 * Only here: `/api/docs`, for developers.
 * @throws when it cannot listen on `port`.
 */
export async function startProxy(options: {
  port: number;
  backendPort: number;
  frontendPort: number;
  /** The agent's firmware cache; null: none. */
  firmwareFolder: string | null;
  /** The agent's file with the operation under way; null: none. */
  operationFile: string | null;
}): Promise<Proxy> {
  const stopping = new AbortController();
  const proxy = createProxyServer({ agent: new HoldingAgent(stopping.signal), xfwd: true });
  const targetOf = ({ url = '/' }: IncomingMessage): { host: string; port: number } => ({
    host: '127.0.0.1',
    port: toBackend.test(url) ? options.backendPort : options.frontendPort,
  });
  const arrivals = new WeakMap<IncomingMessage, Arrival>();
  const pass = (request: IncomingMessage, response: ServerResponse): void =>
    proxy.web(request, response, { target: targetOf(request) });
  proxy.on('error', (_error, request, answer) => {
    const arrival = arrivals.get(request);
    const again =
      arrival && 'writeHead' in answer && isRepeatable(request, answer) && performance.now() < arrival.untilMs;
    if (!again || stopping.signal.aborted) return fail(answer);
    request.headers = { ...arrival.headers };
    setTimeout(() => pass(request, answer), retryMs);
  });
  // An answer that breaks off ends here, too, as with the stack's reverse proxy; a stream would otherwise stay open.
  proxy.on('proxyRes', (upstream, _request, answer) =>
    upstream.once('close', () => {
      if (!upstream.complete) answer.destroy();
    }),
  );
  const { firmwareFolder, operationFile } = options;
  const apiPage = createApiPage();
  const server = createServer((request, response) => {
    const file = ofFirmware.exec(request.url ?? '')?.[1];
    if (file !== undefined && firmwareFolder !== null) {
      void serveFirmware(request, response, { folder: firmwareFolder, file }).catch(() => response.destroy());
      return;
    }
    if (request.url === operationPath && operationFile !== null) {
      void serveOperation(response, operationFile);
      return;
    }
    if (apiPage.serves(request)) {
      void apiPage.answer(request, response).catch(() => response.destroy());
      return;
    }
    arrivals.set(request, { headers: { ...request.headers }, untilMs: performance.now() + holdMs });
    pass(request, response);
  });
  const upgraded = new Set<Duplex>();
  server.on('upgrade', (request, socket: Duplex, head) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    proxy.ws(request, socket, head, { target: targetOf(request) });
  });
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      proxy.close();
      await closed;
    },
  };
}

async function serveOperation(response: ServerResponse, file: string): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => null);
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  response.writeHead(text === null ? 404 : 200, headers).end(text ?? '');
}

/** A request as it arrived, without the headers that the proxy adds. */
type Arrival = { headers: IncomingHttpHeaders; untilMs: number };

/**
 * A service that ends may close a connection while a request arrives. Requests that only read are then repeated, as the
 * stack's reverse proxy does.
 */
function isRepeatable({ method }: IncomingMessage, response: ServerResponse): boolean {
  return (method === 'GET' || method === 'HEAD') && !response.headersSent && !response.destroyed;
}

function fail(answer: ServerResponse | Duplex): void {
  if (!('writeHead' in answer)) {
    answer.destroy();
    return;
  }
  if (answer.headersSent) {
    answer.destroy();
    return;
  }
  const body = {
    statusCode: 503,
    error: 'Service Unavailable',
    code: 'unavailable',
    message: 'The station is not ready yet.',
  };
  answer.writeHead(503, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
