import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { type Clock, isoTime, systemClock } from '@station/kit/clock';
import { type AgentConditions, createAgentConditions } from '@station/kit/conditions';
import { nodeDisk } from '@station/kit/durable-files';
import { Stopping } from '@station/kit/lifecycle';
import { type AgentLogger, createLogger, createRedactor } from '@station/kit/logger';
import { useOutgoingProxy } from '@station/kit/outgoing-proxy';
import type { Status } from '@station/protocol/agent-api';
import { events } from '@station/protocol/events';
import { formatKeyId } from '@station/protocol/signing-key';
import { cacheDisk } from './firmware/adapters/cache-disk.ts';
import { createDockerEngine } from './stack/adapters/docker/docker-engine.ts';
import { createHttpProbe } from './stack/adapters/health-probe.ts';
import { fetchSmallFile } from './core/adapters/http-client.ts';
import { listenForApi } from './core/adapters/http-listener.ts';
import { openDownload } from './firmware/adapters/http-download.ts';
import { readBootId } from './core/adapters/kernel-files.ts';
import { createMachinePower } from './machine/adapters/machine-power.ts';
import { createMdnsName, type MdnsName } from './core/adapters/mdns-name.ts';
import { createOtaBackend } from './firmware/adapters/ota-backend.ts';
import { createServiceManager, type ServiceManager, type ServiceManagerParts } from './core/adapters/systemd.ts';
import { createSystemTime } from './clock/adapters/timedate.ts';
import { readUnitLog } from './logs/adapters/unit-log.ts';
import { socketFiles } from './http/adapters/unix-socket.ts';
import { type AgentPart, createAgentPart } from './backup/agent-part.ts';
import { createHostClock, type HostClock } from './clock/host-clock.ts';
import { type Config, usualFirmwareManifest } from './config.ts';
import type { AgentPort } from './core/agent-port.ts';
import type { BrokerFile } from './core/backup-ports.ts';
import type { OpenLog, ServiceOperator } from './core/operator-ports.ts';
import { createUpdateKeys, type UpdateKeys } from './core/update-keys.ts';
import { agentUnit, environmentFile, examineStation, shareRuns } from './examine-station.ts';
import { createFirmwareSource } from './firmware/firmware-poll.ts';
import type { FirmwareParts } from './firmware/firmware-run.ts';
import { createFirmware, type Firmware } from './firmware/firmware.ts';
import { listensBeyondLoopback } from './http/guard.ts';
import { createHttpServer } from './http/server.ts';
import { createOpenLog } from './logs/follow-log.ts';
import { createMachinePort, createNetworkPort, type MachineParts } from './machine-port.ts';
import { createJournalKeeper } from './stack/journal-keeper.ts';
import { keepOperationFile, operationFile } from './stack/operation-file.ts';
import { createPort80Lock } from './stack/proxy-service.ts';
import { createReleaseSource } from './stack/release-source.ts';
import { createSeenImages } from './stack/seen-images.ts';
import type { StackEngine } from './stack/stack-ports.ts';
import { createStack, type Stack } from './stack/stack.ts';
import { stateFiles } from './stack/state-files.ts';
import type { StackParts } from './stack/update-flow.ts';
import { createTlsDuty } from './tls-duty.ts';
import type { StationCertificates } from './tls/station-certificates.ts';
import { agentVersion } from './version.ts';
import { type CreateRadio, createWifiDuty, type WifiDuty } from './wifi-duty.ts';

/** What an engine needs besides the configuration. `overrideFile` pins the release that must run. */
type EngineParts = {
  overrideFile: string;
  conditions: AgentConditions;
  clock: Clock;
  logger: AgentLogger;
  alive: () => void;
};

/** Creates an engine other than Docker, for simulators. Its processes end with the agent, so each start counts as a boot. */
type CreateEngine = (config: Config, parts: EngineParts) => Promise<StationEngine & AsyncDisposable>;

/** What simulators replace. */
export type Simulated = { createEngine?: CreateEngine; createRadio?: CreateRadio };

/** `broker`: absent in an engine that has no access to files of its services; `operator`: in one that has no logs. */
type StationEngine = StackEngine & { broker?: BrokerFile; operator?: ServiceOperator };

/**
 * Composition root: builds the whole agent from its configuration and starts it.
 * @param options.write receives each log line.
 */
export async function startAgent(
  config: Config,
  options: { signal: AbortSignal; write: (line: string) => void } & Simulated,
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
  stack.defer(useOutgoingProxy(config.proxy));
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
  const firmware = await createFirmwareDuty(config, {
    ...common,
    keys,
    isClockRight,
    isLineTaken: updates.isFetching,
  });
  const wifi = stack.use(
    createWifiDuty(config, {
      ...common,
      engine,
      stack: updates,
      lock,
      startedAt,
      signal,
      bootId: await readBootId(),
      ...(options.createRadio && { createRadio: options.createRadio }),
    }),
  );
  const mdnsName = stack.use(createMdnsName({ clock }));
  const certificates = createTlsDuty(config, { mdnsName, clock, logger, engine, stack: updates, lock });
  // Before the stack starts: its servers read their certificates once.
  await certificates.renew();
  const agentPart = createAgentPart({
    authority: certificates,
    networks: wifi.saved,
    broker: engine.broker ?? null,
    release: updates.installed,
    update: updates.update,
  });
  const openLog = createOpenLog({
    operator: engine.operator ?? { followLog: async () => undefined },
    services: async () => (engine.operator ? (await engine.services()).running : []),
    agentLines: () => readAgentLog(config),
    redact: createRedactor(config.secrets),
    logger,
    clock,
  });
  const power = createMachinePower({ clock });
  const parts = { config, stack: updates, firmware, wifi, agentPart, hostClock, keys, certificates, conditions };
  const port = createStatus({ ...parts, mdnsName, openLog, power, logger, clock, startedAt, agentVersion });
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
  const duties = [updates.run(signal), firmware.run(signal), wifi.run(signal), certificates.run(signal)];
  const { socketPath } = config.api;
  if (socketPath !== null) {
    const path = join(dirname(socketPath), operationFile);
    duties.push(keepOperationFile({ path, stack: updates, disk: nodeDisk, clock }, signal));
  }
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
  'conditions' | 'clock' | 'logger' | 'random' | 'lock' | 'bootId' | 'isClockRight'
> & { engine: StationEngine };

function createStackDuty(config: Config, { keys, ...parts }: StackDutyParts & { keys: UpdateKeys | null }): Stack {
  const { release, health, stationId, dataDir } = config;
  const { keepReleases, autoUpdate, checkIntervalMs, maintenanceWindow } = release;
  const { stabilizationMs, timeoutMs } = health;
  const keeping = { ...parts, disk: nodeDisk, dataDir, keepReleases, stabilizationMs, newId: randomUUID };
  const stackParts: StackParts = {
    ...keeping,
    keeper: createJournalKeeper(keeping),
    seenImages: keys === null ? undefined : createSeenImages(keeping),
    probe: createHttpProbe(health.url),
    gate: { stabilizationMs, timeoutMs },
    source: createReleaseSource({
      url: release.manifestUrl,
      keys,
      fetchFile: fetchSmallFile,
      services: parts.engine.services,
    }),
    stationId,
    agentVersion,
    autoUpdate,
    checkIntervalMs,
    maintenanceWindow,
    bootstrapOnStart: config.stack.bootstrapOnStart,
  };
  return createStack(stackParts, parts.engine.operator ?? null);
}

type FirmwareDutyParts = Pick<
  FirmwareParts,
  'conditions' | 'clock' | 'logger' | 'random' | 'isClockRight' | 'isLineTaken'
>;

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

const readAgentLog = (config: Config): Promise<string[]> =>
  readUnitLog(agentUnit, config.childEnv, AbortSignal.timeout(logTimeoutMs));

type StatusParts = MachineParts & {
  hostClock: HostClock;
  config: Config;
  stack: Stack;
  firmware: Firmware;
  wifi: Pick<WifiDuty, 'status' | 'network'>;
  mdnsName: Pick<MdnsName, 'read'>;
  openLog: OpenLog;
  agentPart: AgentPart;
  keys: UpdateKeys | null;
  certificates: StationCertificates;
  conditions: AgentConditions;
  startedAt: string;
  agentVersion: string;
};

/** Nothing while the learned keys cannot be read. */
async function describeKeys({ keys, config }: StatusParts): Promise<Pick<Status, 'updateKeys'>> {
  if (keys === null) return {};
  const trusted = await keys.trusted().catch(() => null);
  if (trusted === null) return {};
  const configured = new Set(config.release.publicKeys.map(({ text }) => text));
  return {
    updateKeys: trusted.map(({ text, keyId }) => ({ id: formatKeyId(keyId), isLearned: !configured.has(text) })),
  };
}

function describeEncryption({ certificates }: StatusParts): Pick<Status, 'encryption'> {
  const encryption = certificates.status();
  return encryption === null ? {} : { encryption };
}

/** The agent's status for its API, collected from the features at each request. */
function createStatus(parts: StatusParts): AgentPort {
  const { stack, config, conditions, wifi, firmware, hostClock, startedAt, agentVersion } = parts;
  return {
    version: () => ({ ...stack.versions(), agentVersion }),
    wifiStatus: wifi.status,
    hotspot: () => ({ ssid: config.wifi.hotspot.ssid, password: config.wifi.hotspot.password }),
    readBackup: parts.agentPart.read,
    restoreBackup: parts.agentPart.restore,
    doctor: shareRuns(() => examineStation({ config, warnings: [], envFile: environmentFile(), clock: systemClock })),
    log: () => readAgentLog(config),
    openLog: parts.openLog,
    ...createMachinePort(parts),
    ...createNetworkPort(parts),
    clock: hostClock.status,
    setClock: hostClock.set,
    update: stack.update,
    rollback: stack.rollback,
    restartService: stack.restart,
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
      ...describeEncryption(parts),
      ...(await describeKeys(parts)),
      conditions: conditions.list(),
    }),
  };
}
