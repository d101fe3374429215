import { dirname, join } from 'node:path';
import { isoTime, systemClock } from '@station/kit/clock';
import { createAgentConditions } from '@station/kit/conditions';
import { nodeDisk } from '@station/kit/durable-files';
import { Stopping } from '@station/kit/lifecycle';
import { createLogger } from '@station/kit/logger';
import { useOutgoingProxy } from '@station/kit/outgoing-proxy';
import { events } from '@station/protocol/events';
import { createAgentApi } from './agent-api.ts';
import { type AgentBase, type Features, openFeatures, type Simulated } from './agent-features.ts';
import type { Config } from './config.ts';
import { listenForApi } from './core/adapters/http-listener.ts';
import { createServiceManager, type ServiceManager } from './core/adapters/systemd.ts';
import { socketFiles } from './http/adapters/unix-socket.ts';
import { listensBeyondLoopback } from './http/guard.ts';
import { createHttpServer, type HttpServer } from './http/server.ts';
import { keepOperationFile, operationFile } from './stack/operation-file.ts';
import { agentVersion } from './version.ts';

/**
 * Composition root: builds the whole agent from its configuration and starts it.
 * @param options.write receives each log line.
 */
export async function startAgent(
  config: Config,
  options: { signal: AbortSignal; write: (line: string) => void } & Simulated,
): Promise<AsyncDisposable> {
  const stopping = new AbortController();
  const base = createBase(config, options.write, AbortSignal.any([options.signal, stopping.signal]));
  const { conditions, logger, signal } = base;
  await using opened = new AsyncDisposableStack();
  opened.defer(useOutgoingProxy(config.proxy));
  const features = await openFeatures(config, base, options, opened);
  const server = opened.use(await openServer(config, features, base));
  conditions.set('updates_unsigned', features.keys === null);
  conditions.set('agent_open_on_network', config.api.token === null && listensBeyondLoopback(config.api.host));
  const serviceManager = opened.use(createSystemd(config, features, base));
  const duties = runDuties(config, features, base);
  const running = Promise.all(duties).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  opened.defer(async () => {
    serviceManager.stopping();
    logger.event('agent_stopping', {
      signal: signal.aborted && signal.reason instanceof Error ? signal.reason.message : 'stop',
    });
    stopping.abort(new Stopping('stop'));
    await running;
    // A duty that cleans up (such as the hotspot) ends later than the others.
    await Promise.allSettled(duties);
  });
  logger.event('agent_ready', { addresses: server.addresses() });
  serviceManager.ready('Watching the stack');
  return opened.move();
}

function createBase(config: Config, write: (line: string) => void, signal: AbortSignal): AgentBase {
  const clock = systemClock;
  const { logLevel: level, secrets } = config;
  const logger = createLogger({ catalogue: events, clock, write, level, secrets });
  const conditions = createAgentConditions(clock, logger);
  return { conditions, clock, logger, random: Math.random, startedAt: isoTime(clock.now()), signal };
}

function openServer(config: Config, features: Features, base: AgentBase): Promise<HttpServer> {
  const { clock, logger, random } = base;
  return createHttpServer({
    port: createAgentApi(config, features, base),
    config: config.api,
    listenHttp: listenForApi,
    socketFiles,
    agentVersion,
    clock,
    logger,
    random,
  });
}

/** The loop runs at least every half minute; an engine call may take minutes on a slow card. */
const longestSilenceMs = 15 * 60_000;

function createSystemd(config: Config, { stack }: Features, { clock, logger }: AgentBase): ServiceManager {
  const { notifySocket, watchdogMs } = config.systemd;
  return createServiceManager({
    notifySocket,
    watchdogMs,
    path: config.childEnv['PATH'] ?? '/usr/bin:/bin',
    isAlive: () => clock.monotonic() - stack.lastAliveMs() < longestSilenceMs,
    clock,
    logger,
  });
}

/** What runs until the signal aborts. */
function runDuties(config: Config, features: Features, { clock, signal }: AgentBase): Promise<void>[] {
  const { stack, firmware, wifi, certificates } = features;
  const duties = [stack.run(signal), firmware.run(signal), wifi.run(signal), certificates.run(signal)];
  const { socketPath } = config.api;
  if (socketPath !== null) {
    const path = join(dirname(socketPath), operationFile);
    duties.push(keepOperationFile({ path, stack, disk: nodeDisk, clock }, signal));
  }
  return duties;
}
