import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { boundRequests } from '@station/kit/bounded-requests';
import { createByteBudget } from '@station/kit/byte-budget';
import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { createBackoff } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import type { PortalActions, PortalServer } from '../core/hotspot-ports.ts';
import type { ListenHttp } from '../core/http-port.ts';
import { type Answers, createAnswers, type Response } from './answers.ts';
import type { CodeGuard } from './code-guard.ts';
import { decide, type Place, type RequestFacts } from './portal-decide.ts';

const maxBodyBytes = 4096;
/** Room for 64 connections. One more ends the one that has been sending its request longest. */
const budgetBytes = 512 * 1024;
/** Time for running responses to finish when the portal closes. */
const closeGraceMs = 1000;

type PortalOptions = {
  /** IPv4 of the hotspot: the listen address, and the only host name that gets the page. */
  address: string;
  /** TCP port; 0 takes a free one. */
  port: number;
  /** Opens the listener; the real one or a test's. */
  listenHttp: ListenHttp;
  actions: PortalActions;
  guard: CodeGuard;
  logger: AgentLogger;
  clock: Clock;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Ends the attempts to get the port. */
  signal: AbortSignal;
};

/**
 * Opens the setup page on the hotspot. Resolves after the first attempt to listen. While the port is taken or the address is missing,
 * it retries until disposed. Disposing lets running responses finish.
 */
export async function openPortal(options: PortalOptions): Promise<PortalServer> {
  const { address, clock, logger } = options;
  const closing = new AbortController();
  const signal = AbortSignal.any([options.signal, closing.signal]);
  const backoff = createBackoff({ initialMs: 250, maxMs: 5000, jitter: 0.2, random: options.random });
  let server: Server | null = null;
  let isPortTaken = false;
  let loggedReason: string | null = null;

  const attempt = async (): Promise<void> => {
    try {
      server = await listen(options);
      isPortTaken = false;
      logger.event('portal_opened', { address: addressOf(server, address) });
    } catch (error) {
      isPortTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      const reason = describeError(error);
      // Log each reason once: the attempt repeats every few seconds.
      if (reason !== loggedReason)
        logger.event('portal_unavailable', { address: `${address}:${options.port}`, reason });
      loggedReason = reason;
    }
  };
  const persist = async (): Promise<void> => {
    while (server === null) {
      await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
      if (signal.aborted) return;
      await attempt();
    }
  };

  await attempt();
  const persisting = persist();
  return {
    address: () => server && addressOf(server, address),
    isPortTaken: () => isPortTaken,
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await persisting;
      const open = server;
      server = null;
      if (open) await close(open, clock);
    },
  };
}

const addressOf = (server: Server, address: string): string => `${address}:${portOf(server)}`;

function portOf(server: Server): number {
  const bound = server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : 0;
}

/** @throws the system's error (EADDRINUSE, EADDRNOTAVAIL, EACCES, …). */
async function listen({ address, port, listenHttp, actions, guard, logger }: PortalOptions): Promise<Server> {
  const server = await listenHttp({ host: address, port });
  boundRequests(server, createByteBudget({ all: budgetBytes, client: budgetBytes }));
  const place = { address, port: portOf(server) };
  const answers = createAnswers({ place, actions, guard });
  const onError = (error: unknown): void => logger.failed('portal', error);
  server.on('error', onError);
  server.on('request', (request, response) => void handle(request, response, { place, answers, onError }));
  return server;
}

type Handling = { place: Place; answers: Answers; onError: (error: unknown) => void };

async function handle(request: IncomingMessage, response: ServerResponse, parts: Handling): Promise<void> {
  const { answers } = parts;
  const language = request.headers['accept-language'] ?? null;
  try {
    const answer = decide(factsOf(request), parts.place);
    if (answer.kind !== 'form') {
      // Read the body of a probe to its end and ignore it.
      request.resume();
      send(response, answers.to(answer, language), answer.kind === 'redirect');
      return;
    }
    const body = await readBody(request, maxBodyBytes);
    send(response, await answers.toForm(answer.action, body, language), body === null);
  } catch (error) {
    // A client that disconnects half-way is no error.
    if (request.destroyed && !request.complete) return;
    parts.onError(error);
    if (!response.headersSent) send(response, answers.broken(language), true);
  }
}

function factsOf(request: IncomingMessage): RequestFacts {
  const { headers } = request;
  return {
    method: request.method ?? 'GET',
    target: request.url ?? '/',
    host: headers.host ?? null,
    origin: headers.origin ?? null,
    contentType: headers['content-type'] ?? null,
    userAgent: headers['user-agent'] ?? null,
    accept: headers.accept ?? null,
  };
}

/** @param isLast closes the connection afterwards; there are few of them. */
function send(response: ServerResponse, { status, headers, body }: Response, isLast: boolean): void {
  const length = { 'Content-Length': String(Buffer.byteLength(body)) };
  response.writeHead(status, { ...headers, ...length, ...(isLast ? { Connection: 'close' } : {}) });
  response.end(body);
}

async function close(server: Server, clock: Clock): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  const left = new AbortController();
  await Promise.race([closed, clock.sleep(closeGraceMs, left.signal).catch(() => undefined)]);
  left.abort();
  server.closeAllConnections();
  await closed;
}

/** How much is read and discarded of a body that is too large, so that the sender gets to read the answer. */
const mostBytesDiscarded = 1_048_576;

/**
 * A request's body; null when it has more than `limit` bytes.
 * @throws when the sender disconnects or stops sending before the end (the server's time limits end its connection).
 */
async function readBody(request: IncomingMessage, limit: number): Promise<Uint8Array | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
    else if (size > mostBytesDiscarded) return null;
  }
  return size > limit ? null : Buffer.concat(chunks);
}
