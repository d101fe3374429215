import { isIPv6, type AddressInfo } from 'node:net';
import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { prepareSocketPath, restrictSocket } from '../adapters/unix-socket.ts';
import type { Config } from '../config.ts';
import { buildApp } from './app.ts';
import { createEventStreams } from './event-stream.ts';
import type { App } from './fastify.ts';
import { createGuard } from './guard.ts';
import { keepListening } from './listener.ts';
import { createMetrics } from './metrics.ts';
import type { AgentPort } from '../core/agent-port.ts';

export type HttpServer = AsyncDisposable & {
  /** Where the API can be reached now: `http://host:port`, `unix:/path`. */
  addresses(): string[];
};

export type HttpServerParts = {
  port: AgentPort;
  logger: AgentLogger;
  clock: Clock;
  config: Config['api'];
  agentVersion: string;
  /** Uniform in [0, 1). */
  random: () => number;
};

/** Answers that are under way get this long once everybody was told to end. */
const closeGraceMs = 1500;

/**
 * Serves the agent's API over TCP and, when configured, over a Unix socket. Resolves when each of the two listens or has
 * failed once; what failed (an address that is not there yet, a port in use) is tried again for ever, because a station must
 * be kept running even when nobody can ask about it. Disposing ends the event streams, answers whoever waits with 503
 * shutting_down, and takes 2 s at most.
 */
export async function createHttpServer(parts: HttpServerParts): Promise<HttpServer> {
  const { logger, clock, config, random } = parts;
  const stopping = new AbortController();
  const metrics = createMetrics(parts);
  const shared = {
    ...parts,
    metrics,
    startedMs: clock.monotonic(),
    stopping: stopping.signal,
    streams: createEventStreams({ logger, clock, stopping: stopping.signal }),
  };
  const build = (overSocket: boolean): App =>
    buildApp({ ...shared, guard: createGuard({ token: config.token, host: config.host, overSocket }) });
  const openTcp = async () => {
    const app = build(false);
    await orClose(app, app.listen({ host: config.host, port: config.port }));
    const { port } = app.server.address() as AddressInfo;
    return { address: tcpAddress(config.host, port), close: () => closeApp(app) };
  };
  const openSocket = (path: string) => async () => {
    await prepareSocketPath(path);
    const app = build(true);
    await orClose(
      app,
      app.listen({ path }).then(() => restrictSocket(path)),
    );
    return { address: `unix:${path}`, close: () => closeApp(app) };
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

const tcpAddress = (host: string, port: number): string => `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;

async function orClose(app: App, listening: Promise<unknown>): Promise<void> {
  try {
    await listening;
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function closeApp(app: App): Promise<void> {
  // A reader that takes nothing keeps its connection open for ever.
  const timer = setTimeout(() => app.server.closeAllConnections(), closeGraceMs);
  try {
    await app.close();
  } finally {
    clearTimeout(timer);
  }
}
