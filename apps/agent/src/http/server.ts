import type { Server } from 'node:http';
import { boundRequests } from '@station/kit/bounded-requests';
import { createByteBudget } from '@station/kit/byte-budget';
import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { createBackoff, retry } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import { within } from '@station/kit/within';
import type { AgentPort } from '../core/agent-port.ts';
import type { ListenAddress, ListenHttp } from '../core/http-port.ts';
import { createEventStreams, createLogStreams } from './event-stream.ts';
import { createGuard } from './guard.ts';
import { createMetrics } from './metrics.ts';
import { answerInvalidHttp, createRequestHandler } from './request-handler.ts';

export type HttpServer = AsyncDisposable & {
  /** Where the API can be reached now: `http://host:port`, `unix:/path`. */
  addresses(): string[];
};

/** The file of a Unix socket, on the host. */
type SocketFiles = {
  /** Prepares the path of a socket. @throws when another process serves it, or another kind of file is there. */
  prepare(path: string): Promise<void>;
  /** Lets the owner and the group connect, and nobody else. */
  restrict(path: string): Promise<void>;
};

type HttpServerParts = {
  port: AgentPort;
  logger: AgentLogger;
  clock: Clock;
  config: {
    host: string;
    /** Port 0 takes a free one. */
    port: number;
    /** Null: no Unix socket. */
    socketPath: string | null;
    token: string | null;
  };
  /** Opens the listener; the real one or a test's. */
  listenHttp: ListenHttp;
  socketFiles: SocketFiles;
  agentVersion: string;
  /** Uniform in [0, 1). */
  random: () => number;
};

/**
 * Of connections and of bodies that arrive or are worked on: room for one restore, which has 4 MiB, and for 250 connections. TCP and the
 * Unix socket have one each: neither the backend nor programs of the machine can keep the other from the agent.
 */
const budgetBytes = 6 * 1024 * 1024;

/** Time for running responses after the stop begins. */
const closeGraceMs = 1500;

/**
 * Serves the agent's API over TCP and, when configured, over a Unix socket. Resolves when each of the two listens or has
 * failed once; a failed listener (an address that does not exist yet, a port in use) is retried without limit: the station must
 * keep running even when its API is unreachable. Disposing ends the event streams, answers waiting requests with 503
 * shutting_down, and takes 2 s at most.
 */
export async function createHttpServer(parts: HttpServerParts): Promise<HttpServer> {
  const { logger, clock, config, random, socketFiles } = parts;
  const stopping = new AbortController();
  const metrics = createMetrics(parts);
  const shared = {
    ...parts,
    metrics,
    startedMs: clock.monotonic(),
    stopping: stopping.signal,
    streams: createEventStreams({ logger, clock, stopping: stopping.signal }),
    logStreams: createLogStreams({ clock, stopping: stopping.signal }),
  };
  const open = (where: ListenAddress): Promise<Server> =>
    openServer(where, {
      ...shared,
      guard: createGuard({ token: config.token, host: config.host, overSocket: 'path' in where }),
    });
  const openTcp = async () => {
    const server = await open({ host: config.host, port: config.port });
    const bound = server.address();
    const port = typeof bound === 'object' && bound !== null ? bound.port : config.port;
    return { address: tcpAddress(config.host, port), close: () => closeServer(server) };
  };
  const openSocket = (path: string) => async () => {
    await socketFiles.prepare(path);
    const server = await open({ path });
    try {
      await socketFiles.restrict(path);
    } catch (error) {
      await closeServer(server);
      throw error;
    }
    return { address: `unix:${path}`, close: () => closeServer(server) };
  };
  const wanted = [{ address: tcpAddress(config.host, config.port), open: openTcp }];
  if (config.socketPath !== null)
    wanted.push({ address: `unix:${config.socketPath}`, open: openSocket(config.socketPath) });
  const common = { logger, clock, random, signal: stopping.signal };
  const listeners = await Promise.all(wanted.map((each) => keepListening({ ...common, ...each })));
  return {
    addresses: () => listeners.flatMap((listener) => listener.address() ?? []),
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await Promise.all(listeners.map((listener) => listener[Symbol.asyncDispose]()));
      metrics[Symbol.dispose]();
    },
  };
}

const tcpAddress = (host: string, port: number): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** @throws the system's error (EADDRINUSE, …). */
async function openServer(
  where: ListenAddress,
  parts: Omit<Parameters<typeof createRequestHandler>[0], 'bounded'> & { listenHttp: ListenHttp },
): Promise<Server> {
  const server = await parts.listenHttp(where);
  const bounded = boundRequests(server, createByteBudget({ all: budgetBytes, client: budgetBytes }));
  server.on('request', createRequestHandler({ ...parts, bounded }));
  server.on('clientError', answerInvalidHttp);
  server.on('error', (error) => parts.logger.failed('http', error));
  return server;
}

/** Lets running responses finish. */
async function closeServer(server: Server): Promise<void> {
  const closed = Promise.withResolvers<true>();
  server.close(() => closed.resolve(true));
  // A client that does not read would keep its connection open without limit.
  if ((await within(closeGraceMs, closed.promise)) === null) server.closeAllConnections();
  await closed.promise;
}

type Opened = { address: string; close: () => Promise<void> };

type Listener = AsyncDisposable & {
  /** Null while it does not listen. */
  address(): string | null;
};

/**
 * Opens a listener and retries with growing delays until it works.
 * Resolves after the first attempt, successful or not.
 */
async function keepListening(parts: {
  /** The address to listen on, for the log. */
  address: string;
  open: () => Promise<Opened>;
  logger: AgentLogger;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
}): Promise<Listener> {
  const { address, open, logger, clock, signal } = parts;
  const backoff = createBackoff({ initialMs: 1000, maxMs: 60_000, jitter: 0.2, random: parts.random });
  let opened: Opened | null = null;
  const firstAttempt = Promise.withResolvers<void>();
  const listening = retry(
    async (attempt) => {
      opened = await open();
      if (attempt > 1) logger.event('api_available', { address: opened.address });
    },
    {
      clock,
      signal,
      backoff,
      onFailure: ({ error, retryInMs }) => {
        logger.event('api_unavailable', { address, reason: describeError(error), retryInMs });
        firstAttempt.resolve();
      },
    },
  ).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  await Promise.race([listening, firstAttempt.promise]);
  return {
    address: () => opened?.address ?? null,
    [Symbol.asyncDispose]: async () => {
      await listening;
      await opened?.close();
    },
  };
}
