import { join } from 'node:path';
import { describeError } from '@station/kit/station-error';
import type { ServerMessage } from '@station/protocol/socket';
import { createAgentClient } from './adapters/agent-client.ts';
import { findBackendProgram, runInProcess } from './adapters/backup-process.ts';
import { findHelper, startHelperProcess } from './adapters/ble-helper-process.ts';
import { readDiskSpace } from './adapters/disk-space.ts';
import { type Automations, createAutomations } from './automations/automations.ts';
import { type BackendHooks, type Features, type Foundations, openFoundations } from './backend-foundations.ts';
import { openReads } from './backend-reads.ts';
import { registerRoutes } from './backend-routes.ts';
import { readAgentPart, returnAgentPart } from './backup/agent-part.ts';
import { type BackupEngine, createBackupEngine } from './backup/backup-engine.ts';
import { type KeeperParts, startBackupKeeper } from './backup/backup-keeper.ts';
import { placesIn } from './backup/backup-places.ts';
import { createBackupSettings } from './backup/backup-settings.ts';
import { confirmRestore } from './backup/finish-restore.ts';
import { removeLeftovers } from './backup/scratch.ts';
import { createVerifiedStore } from './backup/verified-store.ts';
import type { Cloud } from './cloud/cloud.ts';
import { cloudWriteAlong, startCloudOf } from './cloud/start-cloud.ts';
import type { BackendConfig } from './config.ts';
import type { Commands } from './core/commands.ts';
import type { DeviceEvents } from './core/device-events.ts';
import { readState } from './core/device-state.ts';
import { createEventIds } from './core/event-ids.ts';
import type { Host } from './core/host.ts';
import { watchersOf } from './core/watchers.ts';
import { openAddedDevices } from './devices/added-devices.ts';
import { createCommands } from './devices/commands.ts';
import { startDeviceMessages } from './devices/device-messages.ts';
import { createLargeReads } from './devices/large-reads.ts';
import { type FileLogin, importDevices } from './devices/devices-file.ts';
import { createHistoryStore } from './devices/history-store.ts';
import { type RunningStrangers, startStrangers } from './devices/strangers.ts';
import { startHousekeeping } from './devices/downsampling.ts';
import { startFirmware } from './firmware/firmware.ts';
import type { DescribedRoute } from './http/docs.ts';
import { guardHost } from './http/host-guard.ts';
import { closeInTime, createHttpServer, type HttpServer } from './http/server.ts';
import { type Mqtt, startMqtt } from './mqtt/mqtt.ts';
import type { Strangers, WriteReports } from './mqtt/ports.ts';
import { type Expected, openExpectedDevices } from './provisioning/expected-devices.ts';
import { type Provisioning, startProvisioning } from './provisioning/provisioning.ts';
import { createProvisioningStore, type ProvisioningStore } from './provisioning/provisioning-store.ts';
import { type Radio, startRadio } from './provisioning/radio.ts';
import { askForPause } from './provisioning/radio-pause.ts';
import { createSettingsStore, type SettingsStore } from './provisioning/settings-store.ts';
import { startWifiChanges } from './provisioning/wifi-change.ts';
import { createWifiChangeStore } from './provisioning/wifi-change-store.ts';
import { createWifiOffers } from './provisioning/wifi-offer.ts';
import { createCommandStore, localCommandTransaction } from './store/command-store.ts';
import { createRemovedLogins } from './store/removed-device-store.ts';
import { completeTransitions } from './store/device-transitions.ts';
import { writeReports } from './store/report-store.ts';
import type { Database } from './store/schema.ts';
import { defaultBudget, outboxRoom } from './storage/storage-decide.ts';
import { type StorageKeeper, startStorageKeeper } from './storage/storage-keeper.ts';
import { startStationRuns } from './store/station-runs.ts';
import { startAgentEvents } from './system/agent-link.ts';

export type Backend = AsyncDisposable & {
  /** The address on which it listens, e.g. `http://127.0.0.1:3000`. */
  url: string;
  /** Address of the embedded broker, e.g. `mqtt://127.0.0.1:1883`; null with an external broker. */
  mqttAddress: string | null;
  http: HttpServer;
  deviceEvents: DeviceEvents;
  /** Every registered route, with its access rule. */
  routes: readonly DescribedRoute[];
  db: Database;
};

/** How long the start waits for a broker that does not answer. */
const brokerWaitMs = 2_000;

/**
 * The composition root: opens foundations, features and routes, then listens. Disposing stops in reverse order: it accepts no new
 * connections, finishes the current requests, then closes the links and the database.
 */
export async function startBackend(config: BackendConfig, host: Host, hooks: BackendHooks): Promise<Backend> {
  await using starting = new AsyncDisposableStack();
  const foundations = await openFoundations(starting, config, host, () => hooks.onDamage());
  const { features, begin } = await startFeatures(starting, foundations, hooks);
  const app = createHttpServer({ logger: host.logger });
  guardHost(app, config.deviceBroker.publicUrl);
  // Registered before the routes, so that the server also closes when the start fails.
  starting.defer(() => closeInTime(app));
  const routes = await registerRoutes(app, foundations, features, hooks);
  await begin();
  const url = await app.listen({ port: config.port, host: config.host });
  await settleBackups(config, host);
  starting.use(await openAgentReturn(config, host));
  const running = starting.move();
  return {
    url,
    mqttAddress: features.mqtt.address,
    http: app,
    deviceEvents: foundations.events,
    routes,
    db: foundations.store.db,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** @returns also `begin`, which resumes unfinished work once everything listens. */
async function startFeatures(
  opened: AsyncDisposableStack,
  foundations: Foundations,
  hooks: BackendHooks,
): Promise<{ features: Features; begin(): Promise<void> }> {
  const { config, host, store, hub, devices, events, leadership, replicas } = foundations;
  const { clock, logger } = host;
  // Starts before MQTT: it publishes each report of a device at /ws.
  const messages = opened.use(await startDeviceMessages({ hub, events, devices, clock }));
  const logins = await importDevicesFile(foundations);
  // Before MQTT: the last known time of the previous run is still on disk.
  await completeTransitions(store).catch((error: unknown) =>
    // A station whose disk is full must start; the next start tries again.
    logger.event('unexpected_error', { where: 'completing the history', message: describeError(error) }),
  );
  opened.use(await startStationRuns({ db: store.db, clock, logger }));
  // Opens before MQTT, too: it recognises devices that are being added.
  const expecting = openExpected(opened, foundations);
  const strangers = await openStrangers(opened, foundations, expecting.expected);
  const mqtt = opened.use(await startBrokerLink(foundations, logins, strangers, expecting.expected));
  const commands = opened.use(startCommands(foundations, mqtt));
  await commands.load();
  const { isLeader } = leadership;
  const parts = { db: store.db, hub, events, commands, isLeader, clock, logger };
  const firmware = opened.use(startFirmware({ config: config.firmware, ...parts }));
  const budgetBytes = await storageBudget(config);
  const cloud = await startCloudLink(foundations, commands, mqtt, { ...hooks, budgetBytes });
  if (cloud !== null) opened.use(cloud);
  const wifi = openWifiChanges(foundations, mqtt);
  opened.use(wifi.changes);
  const radio = opened.use(hooks.radio ?? (await openRadio(opened, foundations)));
  const provisioning = opened.use(openProvisioning(foundations, { mqtt, radio, ...expecting }));
  const automations = opened.use(startAutomations(foundations, commands, mqtt));
  opened.use(startAgentEvents(config, host, hub));
  const backups = opened.use(openBackups(foundations));
  const backupKeeper = opened.use(startBackupKeeper(keeperParts(foundations, backups, wifi.settings)));
  const history = createHistoryStore({ store, trustedTime: foundations.trustedTime, clock });
  opened.use(startHousekeeping({ history, also: [automations.prune], leadership, clock, logger }));
  const keeper = opened.use(startKeeper(foundations, mqtt, budgetBytes));
  opened.use(foundations.space.onPressure(keeper));
  const begin = async (): Promise<void> => {
    // Health is ready from the first answer. A backend without its broker still serves people.
    await mqtt.isReadyWithin(brokerWaitMs);
    replicas?.begin([messages.reload, commands.load]);
    await automations.begin();
  };
  return {
    features: {
      mqtt,
      strangers,
      commands,
      firmware,
      automations,
      cloud,
      wifi,
      provisioning,
      backups,
      keeper,
      backupKeeper,
      reads: hooks.hasReadThread === true ? openReads(opened, foundations) : createLargeReads({ store, clock }),
    },
    begin,
  };
}

function keeperParts(
  { config, host, store, station, stationId, conditions, trustedTime }: Foundations,
  engine: BackupEngine,
  settings: SettingsStore,
): KeeperParts {
  const { clock, logger, random } = host;
  return {
    ...{ engine, station, stationId, conditions, trustedTime, clock, logger, random },
    dataDir: config.dataDir,
    backupDir: config.backupDir,
    settings: createBackupSettings(settings),
    verified: createVerifiedStore(store.db),
    isSupported: config.database.kind === 'sqlite',
  };
}

function openBackups({ config, host: { clock, logger } }: Foundations): BackupEngine {
  const { dataDir, database, version } = config;
  const program = findBackendProgram();
  return createBackupEngine({
    dataDir,
    isSupported: database.kind === 'sqlite',
    version,
    readAgentPart: () => readAgentPart(createAgentClient(config.agent, config.agentToken)),
    run: (job, options) => runInProcess(job, { program, ...options }),
    clock,
    logger,
  });
}

/** The station works: what a restore replaced, and what interrupted backups left, is removed. */
async function settleBackups({ dataDir, database }: BackendConfig, { disk, logger }: Host): Promise<void> {
  if (database.kind !== 'sqlite') return;
  try {
    const backup = await confirmRestore({ dataDir, disk, logger });
    if (backup !== null) logger.event('restore_confirmed', backup);
    await removeLeftovers(dataDir);
  } catch (error) {
    // A station whose disk is full must start.
    logger.event('unexpected_error', { where: 'clearing up after backups', message: describeError(error) });
  }
}

async function storageBudget({ dataDir, storageMaxBytes }: BackendConfig): Promise<number> {
  return storageMaxBytes ?? defaultBudget((await readDiskSpace(dataDir))?.totalBytes ?? Infinity);
}

function startKeeper({ host, store, leadership }: Foundations, mqtt: Mqtt, budgetBytes: number): StorageKeeper {
  const { clock, logger } = host;
  return startStorageKeeper({ store, budgetBytes, waiting: mqtt.waiting, leadership, clock, logger });
}

/** Gives the agent its part of a restored backup. */
async function openAgentReturn(config: BackendConfig, host: Host): Promise<AsyncDisposable> {
  const path = placesIn(config.dataDir).agent;
  const isNeeded = config.agent !== null && (await host.disk.read(path)) !== null;
  if (!isNeeded) return { [Symbol.asyncDispose]: async () => undefined };
  return returnAgentPart({ ...host, path, agent: createAgentClient(config.agent, config.agentToken) });
}

function openExpected(
  opened: AsyncDisposableStack,
  { config, host, store: { db }, settingsBox: box, events, trustedTime }: Foundations,
): { expected: Expected; store: ProvisioningStore } {
  const { clock, logger } = host;
  const isBrokerExternal = config.mqtt.kind === 'external';
  const store = createProvisioningStore({ db, box, clock, trustedTime, isBrokerExternal });
  return { store, expected: opened.use(openExpectedDevices({ store, events, clock, logger })) };
}

const openProvisioning = (
  { config, host, stationId, events, leadership, trustedTime }: Foundations,
  parts: { mqtt: Mqtt; radio: Radio; expected: Expected; store: ProvisioningStore },
): Provisioning =>
  startProvisioning({
    ...parts,
    ...{ config, stationId, events, leadership, trustedTime, clock: host.clock, logger: host.logger },
    agent: createAgentClient(config.agent, config.agentToken),
  });

async function openStrangers(
  opened: AsyncDisposableStack,
  foundations: Foundations,
  expected: Expected,
): Promise<RunningStrangers> {
  const { config, host, store, devices, conditions, events, trustedTime } = foundations;
  const { clock, disk, logger } = host;
  const path = join(config.dataDir, 'added-devices.json');
  const { wasAddedAgain } = opened.use(await openAddedDevices({ disk, path, devices, events, logger }));
  return opened.use(
    startStrangers({ db: store.db, devices, expected, wasAddedAgain, conditions, events, trustedTime, clock, logger }),
  );
}

async function startBrokerLink(
  foundations: Foundations,
  logins: readonly FileLogin[],
  strangers: Strangers,
  expected: Expected,
): Promise<Mqtt> {
  const { config, host, store, storage, stationId, devices, types, conditions, events, replicas } = foundations;
  const { clock, disk, logger } = host;
  const newId = createEventIds(() => clock.now());
  const writeAlong = cloudWriteAlong(config.cloud);
  const write: WriteReports = (reports) =>
    replicas?.writeReports(reports, newId, writeAlong) ?? writeReports(store, reports, newId, writeAlong);
  return startMqtt({
    config: config.mqtt,
    stationId,
    sharing: replicas,
    logins,
    devices,
    types,
    removedLogins: createRemovedLogins(store.db),
    strangers,
    expected,
    conditions,
    writeReports: write,
    storage,
    events,
    clock,
    disk,
    logger,
  });
}

async function importDevicesFile({ config, host, store }: Foundations): Promise<FileLogin[]> {
  const { clock, disk, logger } = host;
  if (config.devicesFile === null) return [];
  const { added, logins } = await importDevices({ db: store.db, disk, path: config.devicesFile, clock });
  if (added > 0) logger.event('devices_imported', { count: added });
  return logins;
}

function startCommands(
  { host, store, stationId, devices, types, events, replicas }: Foundations,
  mqtt: Mqtt,
): Commands {
  const { clock, logger } = host;
  const { db } = store;
  return createCommands({
    stationId,
    findDevice: async (id) => {
      const device = await devices.findById(id);
      return device && { id, externalId: device.external_id, type: device.type, state: readState(device.state) };
    },
    types,
    publish: mqtt.publishCommand,
    store: createCommandStore({ db, transact: replicas?.commandTransaction ?? localCommandTransaction(db, events) }),
    events,
    clock,
    logger,
  });
}

function startCloudLink(
  foundations: Foundations,
  commands: Commands,
  { publishCommand: publish }: Mqtt,
  { onReset, cloudTuning: tuning = {}, budgetBytes }: BackendHooks & { budgetBytes: number },
): Promise<Cloud | null> {
  const { config, host, store, stationId, devices, types, events, hub, tap, tokens, settingsBox } = foundations;
  const { leadership, trustedTime } = foundations;
  const facts = {
    trustedTime,
    stationId,
    store,
    devices,
    types,
    commands,
    publish,
    events,
    hub,
    tap,
    tokens,
    box: settingsBox,
  };
  const most = outboxRoom({ budgetBytes, isCopied: store.kind === 'sqlite' });
  const cloud = config.cloud && { ...config.cloud, outboxMaxBytes: Math.min(config.cloud.outboxMaxBytes, most) };
  return startCloudOf(cloud, { ...host, ...facts, leadership, others: foundations.replicas, onReset, tuning });
}

function openWifiChanges({ host, store, settingsBox: box, devices, events, leadership }: Foundations, broker: Mqtt) {
  const { clock, logger } = host;
  const { db } = store;
  const settings = createSettingsStore({ db, box, clock });
  const offers = createWifiOffers({ settings, hasDevices: async () => (await devices.list()).length > 0 });
  const changes = startWifiChanges({
    store: createWifiChangeStore({ db, box, clock }),
    offers,
    broker,
    events,
    leadership,
    clock,
    logger,
  });
  return { settings, offers, changes };
}

/** The station's own Wi-Fi changes, so it may need the radio now. */
const isAboutWifi = (message: ServerMessage): boolean =>
  message.type === 'agent_event' && /^(wifi|hotspot|portal)_/.test(message.event.event);

async function openRadio(opened: AsyncDisposableStack, foundations: Foundations): Promise<Radio> {
  const { config, host, hub, events, devices, types, leadership, replicas } = foundations;
  const { clock, random, logger } = host;
  const agent = config.agent && createAgentClient(config.agent, config.agentToken);
  const watchers = watchersOf(hub);
  const { helper, environment, serviceUuid } = config.ble;
  const program = findHelper(helper);
  const radio = await startRadio({
    serviceUuid,
    startProcess: program === null ? null : (listener) => startHelperProcess({ program, environment, ...listener }),
    askForPause: async () => agent && askForPause(agent),
    watchers: replicas?.shareWatchers(watchers) ?? watchers,
    leadership,
    hub,
    events,
    devices,
    types,
    clock,
    random,
    logger,
  });
  opened.use(foundations.tap.subscribe((message) => isAboutWifi(message) && radio.recheck()));
  return radio;
}

function startAutomations(foundations: Foundations, commands: Commands, mqtt: Mqtt): Automations {
  const { config, host, store, station, devices, types, events, leadership, replicas, trustedTime } = foundations;
  return createAutomations({
    store,
    devices,
    types,
    commands,
    events,
    trustedTime,
    broker: { isReady: mqtt.isReady, isEmbedded: config.mqtt.kind === 'embedded' },
    timeZone: async () => (await station.read()).time_zone,
    leadership,
    isShared: replicas !== null,
    webhookAllow: config.webhookAllow,
    clock: host.clock,
    logger: host.logger,
  });
}
