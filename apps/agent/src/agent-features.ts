import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '@station/kit/clock';
import type { AgentConditions } from '@station/kit/conditions';
import { nodeDisk, type Owner } from '@station/kit/durable-files';
import { createEmitter } from '@station/kit/emitter';
import type { AgentLogger } from '@station/kit/logger';
import { createSystemTime } from './clock/adapters/timedate.ts';
import { createHostClock, type HostClock } from './clock/host-clock.ts';
import { type Config, localMinutes, usualFirmwareManifest } from './config.ts';
import { type AutoUpdate, openAutoUpdate } from './core/auto-update.ts';
import { fetchSmallFile } from './core/adapters/http-client.ts';
import { readBootId } from './core/adapters/kernel-files.ts';
import { createMdnsName, type MdnsName } from './core/adapters/mdns-name.ts';
import type { BrokerFile } from './core/backup-ports.ts';
import type { ServiceOperator } from './core/operator-ports.ts';
import { isInsideWindow } from './core/maintenance-window.ts';
import { createUpdateKeys, type UpdateKeys } from './core/update-keys.ts';
import { cacheDisk } from './firmware/adapters/cache-disk.ts';
import { openDownload } from './firmware/adapters/http-download.ts';
import { createOtaBackend } from './firmware/adapters/ota-backend.ts';
import { createFirmwareSource } from './firmware/firmware-poll.ts';
import type { FirmwareParts } from './firmware/firmware-run.ts';
import { createFirmware, type Firmware } from './firmware/firmware.ts';
import { createDockerEngine } from './stack/adapters/docker/docker-engine.ts';
import { createHttpProbe } from './stack/adapters/health-probe.ts';
import { createSurfaceProbe } from './stack/adapters/surface-probe.ts';
import { createJournalKeeper } from './stack/journal-keeper.ts';
import { createPort80Lock } from './stack/proxy-service.ts';
import { createReleaseSource } from './stack/release-source.ts';
import { createSeenImages } from './stack/seen-images.ts';
import { restartService, type ServiceRestartParts } from './stack/service-restart.ts';
import type { StackEngine } from './stack/stack-ports.ts';
import { createStack, type Stack } from './stack/stack.ts';
import { rebuildArchive, stateFiles } from './stack/state-files.ts';
import type { StackParts } from './stack/update-flow.ts';
import { certificateMaker } from './tls/adapters/certificates.ts';
import { readHostAddresses } from './tls/adapters/host-addresses.ts';
import { createStationCertificates, type Server, type StationCertificates } from './tls/station-certificates.ts';
import { agentVersion } from './version.ts';
import { type CreateRadio, createWifiDuty, type WifiDuty } from './wifi-duty.ts';

/** What every part of the agent is given. */
export type AgentBase = {
  conditions: AgentConditions;
  clock: Clock;
  logger: AgentLogger;
  /** Uniform in [0, 1). */
  random: () => number;
  startedAt: string;
  /** Aborts when the agent stops. */
  signal: AbortSignal;
};

/** What an engine needs besides the configuration. `overrideFile` pins the release that must run. */
type EngineParts = Pick<AgentBase, 'conditions' | 'clock' | 'logger'> & { overrideFile: string; alive: () => void };

/** `broker`: absent in an engine that has no access to files of its services; `operator`: in one that has no logs. */
type StationEngine = StackEngine & { broker?: BrokerFile; operator?: ServiceOperator };

/** Creates an engine other than Docker, for simulators. Its processes end with the agent, so each start counts as a boot. */
type CreateEngine = (config: Config, parts: EngineParts) => Promise<StationEngine & AsyncDisposable>;

/** What simulators replace. */
export type Simulated = { createEngine?: CreateEngine; createRadio?: CreateRadio };

/** The features of a running agent, and what several of them use. */
export type Features = {
  engine: StationEngine;
  autoUpdate: AutoUpdate;
  stack: Stack;
  firmware: Firmware;
  wifi: WifiDuty;
  hostClock: HostClock;
  keys: UpdateKeys | null;
  certificates: StationCertificates;
  mdnsName: Pick<MdnsName, 'read'>;
};

/**
 * Builds each feature from the configuration, with the adapters for its ports, in the order in which they need one another.
 * @param opened receives what must be closed.
 */
export async function openFeatures(
  config: Config,
  base: AgentBase,
  simulated: Simulated,
  opened: AsyncDisposableStack,
): Promise<Features> {
  const { conditions, clock, logger, random, startedAt, signal } = base;
  const common = { conditions, clock, logger, random };
  const lock = createPort80Lock();
  const machineBoot = await readBootId();
  const bootId = simulated.createEngine ? randomUUID() : machineBoot;
  const overrideFile = join(config.dataDir, stateFiles.updateOverride);
  const progress = createEmitter<void>();
  const engineParts = { overrideFile, conditions, clock, logger, alive: () => progress.emit() };
  const engine: StationEngine = opened.use(await (simulated.createEngine ?? createDocker)(config, engineParts));
  const hostClock = opened.use(openHostClock(config, { clock, logger, bootId: machineBoot }));
  const trust = { keys: createKeys(config, logger), isClockRight: () => isRight(hostClock) };
  const { dataDir, release } = config;
  const autoUpdate = await openAutoUpdate({ disk: nodeDisk, dataDir, configured: release.autoUpdate, logger });
  const isAutomatic = autoUpdate.isOn;
  const stack = createStackDuty(config, { ...common, ...trust, isAutomatic, engine, lock, bootId });
  opened.use(progress.subscribe(stack.alive));
  logger.event('agent_started', { agentVersion, bootId });
  const firmware = createFirmwareDuty(config, {
    ...common,
    ...trust,
    isAutomatic,
    bootId: machineBoot,
    isLineTaken: stack.isFetching,
  });
  opened.use(autoUpdate.onChange(stack.wake));
  opened.use(autoUpdate.onChange(firmware.handOverAgain));
  const { createRadio } = simulated;
  const wifi = opened.use(
    createWifiDuty(config, {
      ...common,
      engine,
      stack,
      lock,
      startedAt,
      signal,
      bootId: machineBoot,
      ...(createRadio && { createRadio }),
    }),
  );
  const mdnsName = opened.use(createMdnsName({ clock }));
  const certificates = createTlsDuty(config, {
    mdnsName,
    clock,
    isClockRight: trust.isClockRight,
    logger,
    engine,
    stack,
    lock,
  });
  // Before the stack starts: its servers read their certificates once.
  await certificates.renew();
  return { engine, autoUpdate, stack, firmware, wifi, hostClock, keys: trust.keys, certificates, mdnsName };
}

async function createDocker(
  { stack, childEnv, dataDir }: Config,
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
    archivePath: join(dataDir, rebuildArchive),
  });
}

function openHostClock(
  { dataDir }: Config,
  parts: { clock: Clock; logger: AgentLogger; bootId: string },
): HostClock & AsyncDisposable {
  const system = createSystemTime({ clock: parts.clock });
  const hostClock = createHostClock({ ...parts, system, disk: nodeDisk, dataDir });
  return { ...hostClock, [Symbol.asyncDispose]: () => system[Symbol.asyncDispose]() };
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
  'conditions' | 'clock' | 'logger' | 'random' | 'lock' | 'bootId' | 'isClockRight' | 'isAutomatic'
> & { engine: StationEngine; keys: UpdateKeys | null };

function createStackDuty(config: Config, { keys, ...parts }: StackDutyParts): Stack {
  const { release, health, stationId, dataDir } = config;
  const { keepReleases, checkIntervalMs, maintenanceWindow } = release;
  const { stabilizationMs, timeoutMs, devicesMs, probationMs } = health;
  const keeping = { ...parts, disk: nodeDisk, dataDir, keepReleases, probationMs, stabilizationMs, newId: randomUUID };
  const stackParts: StackParts = {
    ...keeping,
    keeper: createJournalKeeper(keeping),
    seenImages: keys === null ? undefined : createSeenImages(keeping),
    probe: createHttpProbe(health.url),
    surface: createSurfaceProbe({ healthUrl: health.url, backend: config.backend }),
    gate: { stabilizationMs, timeoutMs, devicesMs },
    source: createReleaseSource({
      url: release.manifestUrl,
      keys,
      fetchFile: fetchSmallFile,
      services: parts.engine.services,
    }),
    stationId,
    agentVersion,
    checkIntervalMs,
    isMaintenanceTime: (now) => isInsideWindow(maintenanceWindow, localMinutes(now)),
    bootstrapOnStart: config.stack.bootstrapOnStart,
  };
  return createStack(stackParts, parts.engine.operator ?? null);
}

type FirmwareDutyParts = Pick<
  FirmwareParts,
  'conditions' | 'clock' | 'logger' | 'random' | 'isClockRight' | 'isAutomatic' | 'isLineTaken' | 'bootId'
> & { keys: UpdateKeys | null };

function createFirmwareDuty(config: Config, { keys, ...parts }: FirmwareDutyParts): Firmware {
  const { manifestUrl, cacheDir, folder, maxBytes, checkIntervalMs } = config.firmware;
  return createFirmware({
    ...parts,
    source: createFirmwareSource({ url: manifestUrl, keys, maxBytes, fetchFile: fetchSmallFile }),
    disk: cacheDisk,
    open: openDownload,
    backend: createOtaBackend(config.backend),
    directory: cacheDir,
    folder,
    dataDir: config.dataDir,
    maxBytes,
    checkIntervalMs,
    isUsualAddress: manifestUrl.href === usualFirmwareManifest(config.release.manifestUrl).href,
  });
}

type TlsDutyParts = Omit<ServiceRestartParts, 'proxy'> & {
  mdnsName: Pick<MdnsName, 'read'>;
  clock: Clock;
  isClockRight: () => Promise<boolean | null>;
  logger: AgentLogger;
};

/** Users of the containers, as in deploy/docker-compose.yml. */
const containerUsers: Record<Server, Owner> = {
  https: { uid: 10_001, gid: 10_001 },
  mqtt: { uid: 1883, gid: 1883 },
};
const brokerService = 'mqtt';

/** The certificates of the station (ADR 45); the services that read them are restarted. */
function createTlsDuty(
  { encryption, dataDir, stationId, wifi, stack }: Config,
  { mdnsName, clock, isClockRight, logger, ...parts }: TlsDutyParts,
): StationCertificates {
  const services: Record<Server, string> = { https: stack.reverseProxyService, mqtt: brokerService };
  return createStationCertificates({
    ...encryption,
    dataDir,
    clock,
    isClockRight,
    logger,
    disk: nodeDisk,
    maker: certificateMaker,
    addresses: readHostAddresses,
    authorityName: `Station-${stationId.slice(-4)}`,
    host: wifi.stationUrl.hostname,
    mdnsName: mdnsName.read,
    owners: process.getuid?.() === 0 ? containerUsers : null,
    restart: (server, signal) =>
      restartService({ ...parts, proxy: stack.reverseProxyService }, services[server], signal),
  });
}
