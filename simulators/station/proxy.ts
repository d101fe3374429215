import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { createProxyServer } from 'http-proxy-3';
import { HoldingAgent } from './holding-agent.ts';

export type Proxy = AsyncDisposable & { url: string };

const toBackend = /^\/(api|ws|provisioning)(\/|\?|$)/;

/**
 * Stands in for the stack's reverse proxy on loopback: `/api`, `/ws` and `/provisioning` to the backend, the rest to the
 * frontend. Requests that come while one of them restarts are held.
 * @throws when it cannot listen on `port`.
 */
export async function startProxy(options: { port: number; backendPort: number; frontendPort: number }): Promise<Proxy> {
  const stopping = new AbortController();
  const proxy = createProxyServer({ agent: new HoldingAgent(stopping.signal), xfwd: true });
  const targetOf = ({ url = '/' }: IncomingMessage): { host: string; port: number } => ({
    host: '127.0.0.1',
    port: toBackend.test(url) ? options.backendPort : options.frontendPort,
  });
  proxy.on('error', (_error, _request, answer) => fail(answer));
  const server = createServer((request, response) => proxy.web(request, response, { target: targetOf(request) }));
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

function fail(answer: ServerResponse | Duplex): void {
  if (!('writeHead' in answer)) return void answer.destroy();
  if (answer.headersSent) return void answer.destroy();
  const body = {
    statusCode: 503,
    error: 'Service Unavailable',
    code: 'unavailable',
    message: 'The station is not there yet.',
  };
  answer.writeHead(503, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
