import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Clock, isoTime, systemClock } from '@station/kit/clock';
import { type AgentConditions, createAgentConditions } from '@station/kit/conditions';
import { nodeDisk } from '@station/kit/durable-files';
import { Stopping } from '@station/kit/lifecycle';
import { type AgentLogger, createLogger } from '@station/kit/logger';
import type { Status } from '@station/protocol/agent-api';
import { events } from '@station/protocol/events';
import { createOtaBackend } from './adapters/backend-client.ts';
import { readBootId } from './adapters/boot-id.ts';
import { cacheDisk } from './adapters/cache-disk.ts';
import { createDockerEngine } from './adapters/docker/docker-engine.ts';
import { createHttpProbe, fetchSmallFile } from './adapters/http-client.ts';
import { listenForApi } from './adapters/http-listener.ts';
import { openDownload } from './adapters/http-download.ts';
import { readLog } from './adapters/machine-checks.ts';
import { createServiceManager, type ServiceManager, type ServiceManagerParts } from './adapters/systemd.ts';
import { createSystemTime } from './adapters/timedate.ts';
import { socketFiles } from './adapters/unix-socket.ts';
import { type AgentPart, createAgentPart } from './backup/agent-part.ts';
import { createHostClock, type HostClock } from './clock/host-clock.ts';
import { type Config, usualFirmwareManifest } from './config.ts';
import type { AgentPort } from './core/agent-port.ts';
import type { BrokerFile } from './core/backup-ports.ts';
import { createUpdateKeys, type UpdateKeys } from './core/update-keys.ts';
import { agentUnit, environmentFile, examineStation, shareRuns } from './examine-station.ts';
import { createFirmwareSource } from './firmware/firmware-poll.ts';
import type { FirmwareParts } from './firmware/firmware-run.ts';
import { createFirmware, type Firmware } from './firmware/firmware.ts';
import { listensBeyondLoopback } from './http/guard.ts';
import { createHttpServer } from './http/server.ts';
import { createJournalKeeper } from './stack/journal-keeper.ts';
import { createPort80Lock } from './stack/proxy-service.ts';
import { createReleaseSource } from './stack/release-source.ts';
import type { StackEngine } from './stack/stack-ports.ts';
import { createStack, type Stack } from './stack/stack.ts';
import { stateFiles } from './stack/state-files.ts';
import type { StackParts } from './stack/update-flow.ts';
import { agentVersion } from './version.ts';
import { createWifiDuty, type WifiDuty } from './wifi-duty.ts';

/** What an engine needs besides the configuration. `overrideFile` pins the release that must run. */
type EngineParts = {
  overrideFile: string;
  conditions: AgentConditions;
  clock: Clock;
  logger: AgentLogger;
  alive: () => void;
};

/** Creates an engine other than Docker, for simulators. Its processes end with the agent, so each start counts as a boot. */
export type CreateEngine = (config: Config, parts: EngineParts) => Promise<StackEngine & AsyncDisposable>;

/** `broker`: absent in an engine that has no access to files of its services. */
type StationEngine = StackEngine & { broker?: BrokerFile };

/**
 * Composition root: builds the whole agent from its configuration and starts it.
 * @param options.write receives each log line.
 */
export async function startAgent(
  config: Config,
  options: { signal: AbortSignal; write: (line: string) => void; createEngine?: CreateEngine },
): Promise<AsyncDisposable> {
  const clock = systemClock;
  const logger = createLogger({
    catalogue: events,
    clock,
    write: options.write,
    level: config.logLevel,
    secrets: config.secrets,
  });
  const conditions = createAgentConditions(clock, logger);
  const startedAt = isoTime(clock.now());
  await using stack = new AsyncDisposableStack();
  const stopping = new AbortController();
  const signal = AbortSignal.any([options.signal, stopping.signal]);

  const lock = createPort80Lock();
  const bootId = options.createEngine ? randomUUID() : await readBootId();
  const overrideFile = join(config.dataDir, stateFiles.updateOverride);
  const alive = (): void => updates.alive();
  const engineParts = { overrideFile, conditions, clock, logger, alive };
  const engine: StationEngine = stack.use(await (options.createEngine ?? createDocker)(config, engineParts));
  const common = { conditions, clock, logger, random: Math.random };
  const hostClock = stack.use(await openHostClock(config, { clock, logger }));
  const isClockRight = (): Promise<boolean | null> => isRight(hostClock);
  const keys = createKeys(config, logger);
  const updates = createStackDuty(config, { ...common, engine, lock, bootId, isClockRight, keys });
  logger.event('agent_started', { agentVersion, bootId });
  const firmware = await createFirmwareDuty(config, { ...common, keys, isLineTaken: updates.isFetching });
  const wifi = stack.use(
    createWifiDuty(config, {
      ...common,
      ...{ engine, stack: updates, lock, startedAt, signal, bootId: await readBootId() },
    }),
  );
  const agentPart = createAgentPart({
    networks: wifi.saved,
    broker: engine.broker ?? null,
    release: updates.installed,
    update: updates.update,
  });
  const parts = { config, stack: updates, firmware, wifi, agentPart, hostClock, conditions };
  const port = createStatus({ ...parts, startedAt, agentVersion });
  const server = stack.use(
    await createHttpServer({
      ...common,
      port,
      config: config.api,
      listenHttp: listenForApi,
      socketFiles,
      agentVersion,
    }),
  );
  conditions.set('updates_unsigned', keys === null);
  conditions.set('agent_open_on_network', config.api.token === null && listensBeyondLoopback(config.api.host));
  const isAlive = (): boolean => clock.monotonic() - updates.lastAliveMs() < longestSilenceMs;
  const serviceManager = stack.use(createSystemd(config, { clock, logger, isAlive }));
  const duties = [updates.run(signal), firmware.run(signal), wifi.run(signal)];
  const running = Promise.all(duties).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  stack.defer(async () => {
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
  return stack.move();
}

/** Null: the system does not tell. */
async function isRight(hostClock: HostClock): Promise<boolean | null> {
  const status = await hostClock.status().catch(() => null);
  return status === null || status.source === 'unknown' ? null : status.trusted;
}

/** Null: without UPDATE_PUBLIC_KEY signatures are not verified. */
function createKeys({ release, dataDir }: Config, logger: AgentLogger): UpdateKeys | null {
  const configured = release.publicKeys;
  return configured.length === 0 ? null : createUpdateKeys({ configured, disk: nodeDisk, dataDir, logger });
}

type StackDutyParts = Pick<
  StackParts,
  'conditions' | 'clock' | 'logger' | 'random' | 'engine' | 'lock' | 'bootId' | 'isClockRight'
>;

function createStackDuty(config: Config, { keys, ...parts }: StackDutyParts & { keys: UpdateKeys | null }): Stack {
  const { release, health, stationId, dataDir } = config;
  const { keepReleases, autoUpdate, checkIntervalMs, maintenanceWindow } = release;
  const { stabilizationMs, timeoutMs } = health;
  const keeping = { ...parts, disk: nodeDisk, dataDir, keepReleases, newId: randomUUID };
  return createStack({
    ...keeping,
    keeper: createJournalKeeper(keeping),
    probe: createHttpProbe(health.url),
    gate: { stabilizationMs, timeoutMs },
    source: createReleaseSource({
      ...{ url: release.manifestUrl, keys, fetchFile: fetchSmallFile },
      knownServices: parts.engine.services,
    }),
    ...{ stationId, agentVersion, autoUpdate, checkIntervalMs, maintenanceWindow },
    bootstrapOnStart: config.stack.bootstrapOnStart,
  });
}

type FirmwareDutyParts = Pick<FirmwareParts, 'conditions' | 'clock' | 'logger' | 'random' | 'isLineTaken'>;

async function createFirmwareDuty(
  config: Config,
  { keys, ...common }: FirmwareDutyParts & { keys: UpdateKeys | null },
): Promise<Firmware> {
  const { manifestUrl, cacheDir, folder, maxBytes, checkIntervalMs } = config.firmware;
  return createFirmware({
    ...common,
    source: createFirmwareSource({ url: manifestUrl, keys, maxBytes, fetchFile: fetchSmallFile }),
    disk: cacheDisk,
    open: openDownload,
    backend: createOtaBackend(config.backend),
    directory: cacheDir,
    folder,
    dataDir: config.dataDir,
    bootId: await readBootId(),
    maxBytes,
    checkIntervalMs,
    isUsualAddress: manifestUrl.href === usualFirmwareManifest(config.release.manifestUrl).href,
  });
}

async function openHostClock(
  { dataDir }: Config,
  { clock, logger }: { clock: Clock; logger: AgentLogger },
): Promise<HostClock & AsyncDisposable> {
  const system = createSystemTime({ clock });
  const hostClock = createHostClock({ system, disk: nodeDisk, dataDir, bootId: await readBootId(), clock, logger });
  return { ...hostClock, [Symbol.asyncDispose]: () => system[Symbol.asyncDispose]() };
}

function createSystemd(
  { systemd, childEnv }: Config,
  parts: Pick<ServiceManagerParts, 'clock' | 'logger' | 'isAlive'>,
): ServiceManager {
  const { notifySocket, watchdogMs } = systemd;
  return createServiceManager({ ...parts, notifySocket, watchdogMs, path: childEnv['PATH'] ?? '/usr/bin:/bin' });
}

/** The loop runs at least every half minute; an engine call may take minutes on a slow card. */
const longestSilenceMs = 15 * 60_000;

async function createDocker(
  { stack, childEnv }: Config,
  { overrideFile, conditions, clock, logger, alive }: EngineParts,
): Promise<StationEngine & Disposable> {
  const { registry, registryCredentials } = stack;
  return createDockerEngine({
    disk: nodeDisk,
    socketPath: stack.dockerSocket,
    program: stack.dockerProgram,
    projectPath: stack.projectPath,
    composeFile: stack.composeFile,
    overridePath: overrideFile,
    containerNames: { backend: stack.backendContainer, frontend: stack.frontendContainer },
    credentials: registryCredentials && { registry: registry ?? 'docker.io', ...registryCredentials },
    env: { ...childEnv },
    clock,
    alive,
    onLink: (linked) => conditions.set('compose_not_linked', !linked),
    onRestart: (restarted) =>
      logger.event('engine_restarted', { reason: 'it held a port for a container that is gone', restarted }),
    onRemoved: (image) => logger.event('image_removed', { image }),
    onRepaired: (repaired) => logger.event('engine_storage_repaired', repaired),
  });
}

const logTimeoutMs = 10_000;

type StatusParts = {
  hostClock: HostClock;
  config: Config;
  stack: Stack;
  firmware: Firmware;
  wifi: Pick<WifiDuty, 'status'>;
  agentPart: AgentPart;
  conditions: AgentConditions;
  startedAt: string;
  agentVersion: string;
};

/** The agent's status for its API, collected from the features at each request. */
function createStatus(parts: StatusParts): AgentPort {
  const { stack, config, conditions, wifi, firmware, hostClock, startedAt, agentVersion } = parts;
  return {
    version: () => ({ ...stack.versions(), agentVersion }),
    wifiStatus: wifi.status,
    readBackup: parts.agentPart.read,
    restoreBackup: parts.agentPart.restore,
    doctor: shareRuns(() => examineStation({ config, warnings: [], envFile: environmentFile(), clock: systemClock })),
    log: () => readLog(agentUnit, config.childEnv, AbortSignal.timeout(logTimeoutMs)),
    clock: hostClock.status,
    setClock: hostClock.set,
    update: stack.update,
    rollback: stack.rollback,
    check: async () => {
      const [answer, firmwareCheck] = await Promise.all([stack.check(), firmware.check()]);
      const { latestVersion } = stack.versions();
      return {
        release: { ok: answer.kind === 'ok', latestVersion, updateAvailable: stack.updateAvailable() },
        firmware: firmwareCheck,
      };
    },
    status: async (): Promise<Status> => ({
      stationId: config.stationId,
      startedAt,
      agentVersion,
      autoUpdate: config.release.autoUpdate,
      ...(await stack.status()),
      firmware: firmware.status(),
      wifi: wifi.status(),
      clock: await hostClock.status(),
      conditions: conditions.list(),
    }),
  };
}
