import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

type SeenRequest = { method: string; path: string; body: string; authorization: string | undefined };

/**
 * An HTTP server that replaces the agent. It sends the answers and events that a test sets, so the backend can be
 * tested with a slow, unreachable or refusing agent. The end-to-end tests use the real agent.
 */
export type SimulatedAgent = AsyncDisposable & {
  seen: SeenRequest[];
  answer(path: string, statusCode: number, body: unknown): void;
  /** Reads the request and never answers it. */
  hang(path: string): void;
  emit(event: object): void;
  /** Ends the open event streams. */
  endStreams(): void;
  streams(): number;
  url: string;
};

export async function simulateAgent(socketPath?: string): Promise<SimulatedAgent> {
  const answers = new Map<string, { statusCode: number; body: unknown } | 'hang'>();
  const seen: SeenRequest[] = [];
  const open = new Set<ServerResponse>();

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    let body = '';
    for await (const chunk of request) body += String(chunk);
    seen.push({ method: request.method ?? '', path, body, authorization: request.headers.authorization });
    if (path === '/events' || path.startsWith('/logs')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
      open.add(response);
      response.on('close', () => open.delete(response));
      return;
    }
    const answer = answers.get(path) ?? { statusCode: 404, body: { nothing: 'here' } };
    if (answer === 'hang') return;
    response.writeHead(answer.statusCode, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
  };
  const server: Server = createServer((request, response) => void handle(request, response));
  if (socketPath === undefined) server.listen(0, '127.0.0.1');
  else server.listen(socketPath);
  await once(server, 'listening');

  return {
    seen,
    answer: (path, statusCode, body) => void answers.set(path, { statusCode, body }),
    hang: (path) => void answers.set(path, 'hang'),
    emit: (event) => {
      for (const response of open) response.write(`event: agent\ndata: ${JSON.stringify(event)}\n\n`);
    },
    endStreams: () => {
      for (const response of open) response.end();
    },
    streams: () => open.size,
    url: socketPath ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
