import { join } from 'node:path';
import { foundUrl } from '@station/protocol/station-name';
import { createAgentClient } from './adapters/agent-client.ts';
import { readDiskSpace } from './adapters/disk-space.ts';
import { createMachineNetwork } from './adapters/machine-network.ts';
import { type Automations, createAutomations } from './automations/automations.ts';
import { localTime } from './automations/local-time.ts';
import { keeperParts, openAgentReturn, openBackups, settleBackups } from './backend-backup.ts';
import { type BackendHooks, type Features, type Foundations, openFoundations } from './backend-foundations.ts';
import { openExpected, openProvisioning, openRadio, openWifiChanges } from './backend-provisioning.ts';
import { openReads } from './backend-reads.ts';
import { registerRoutes } from './backend-routes.ts';
import { startBackupKeeper } from './backup/backup-keeper.ts';
import type { Cloud } from './cloud/cloud.ts';
import { cloudWriteAlong, startCloudOf } from './cloud/start-cloud.ts';
import type { BackendConfig } from './config.ts';
import type { Commands } from './core/commands.ts';
import type { DeviceEvents } from './core/device-events.ts';
import { readState } from './core/device-state.ts';
import { createEventIds } from './core/event-ids.ts';
import type { Host } from './core/host.ts';
import { openAddedDevices } from './devices/added-devices.ts';
import { createCommands } from './devices/commands.ts';
import { startDeviceMessages } from './devices/device-messages.ts';
import { createLargeReads } from './devices/large-reads.ts';
import { type FileLogin, importDevices } from './devices/devices-file.ts';
import { createHistoryStore } from './devices/history-store.ts';
import { type RunningUnregisteredDevices, startUnregisteredDevices } from './devices/unregistered-devices.ts';
import { startHousekeeping } from './devices/downsampling.ts';
import { startFirmware } from './firmware/firmware.ts';
import type { DescribedRoute } from './http/docs.ts';
import { guardHost } from './http/host-guard.ts';
import { closeInTime, createHttpServer, type HttpServer } from './http/server.ts';
import { type Mqtt, startMqtt } from './mqtt/mqtt.ts';
import type { UnregisteredDevices, WriteReports } from './mqtt/ports.ts';
import { type Notifications, startNotifications } from './notifications/notifications.ts';
import { startGuestEnds } from './people/guest-ends.ts';
import { type Expected } from './provisioning/expected-devices.ts';
import { type SettingsStore } from './provisioning/settings-store.ts';
import { createCommandStore, localCommandTransaction } from './store/command-store.ts';
import { standingConditions } from './store/station-event-store.ts';
import { createRemovedLogins } from './store/removed-device-store.ts';
import { completeTransitions } from './store/device-transitions.ts';
import { writeReports } from './store/report-store.ts';
import type { Database } from './store/schema.ts';
import { defaultBudget, outboxRoom } from './storage/storage-decide.ts';
import { type StorageKeeper, startStorageKeeper } from './storage/storage-keeper.ts';
import { startStationRuns } from './store/station-runs.ts';
import { placeOf } from './store/station-store.ts';
import { startAgentEvents } from './system/agent-link.ts';
import { startStationHistory } from './system/station-history.ts';

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
  guardHost(app, { publicUrl: config.deviceBroker.publicUrl, publicName: config.publicName });
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
  // Before MQTT, and before what publishes each report of a device at /ws.
  const places = opened.use(await foundations.places.start({ hub, events, devices, clock, logger }));
  const messages = opened.use(await startDeviceMessages({ hub, events, devices, clock }));
  const logins = await importDevicesFile(foundations);
  // Before MQTT: the last known time of the previous run is still on disk.
  await completeTransitions(store).catch((error: unknown) =>
    // A station whose disk is full must start; the next start tries again.
    logger.failed('completing the history', error),
  );
  opened.use(await startStationRuns({ db: store.db, clock, logger }));
  // Opens before MQTT, too: it recognises devices that are being added.
  const expecting = openExpected(opened, foundations);
  const unregistered = await openUnregisteredDevices(opened, foundations, expecting.expected);
  const mqtt = opened.use(await startBrokerLink(foundations, logins, unregistered, expecting.expected));
  const commands = opened.use(startCommands(foundations, mqtt));
  await commands.load();
  const { isLeader } = leadership;
  const parts = { db: store.db, hub, events, commands, isLeader, clock, logger };
  const network = createMachineNetwork(createAgentClient(config.agent, config.agentToken), clock);
  const publicUrl = async (): Promise<string> => foundUrl(config.firmware.publicUrl, (await network()).mdnsName);
  const firmware = opened.use(startFirmware({ config: config.firmware, publicUrl, ...parts }));
  const budgetBytes = await storageBudget(config);
  const cloud = await startCloudLink(foundations, commands, mqtt, { ...hooks, budgetBytes });
  if (cloud !== null) opened.use(cloud);
  const wifi = openWifiChanges(foundations, mqtt);
  opened.use(wifi.changes);
  const radio = opened.use(hooks.radio ?? (await openRadio(opened, foundations)));
  const provisioning = opened.use(openProvisioning(foundations, { mqtt, radio, network, ...expecting }));
  const automations = opened.use(startAutomations(foundations, commands, mqtt));
  opened.use(await openStationHistory(foundations));
  opened.use(startAgentEvents(config, host, hub));
  opened.use(
    startGuestEnds({
      db: store.db,
      accessTokens: foundations.tokens,
      clock,
      trustedTime: foundations.trustedTime,
      logger,
    }),
  );
  const backups = opened.use(openBackups(foundations, hooks.runBackupJob));
  const backupKeeper = opened.use(startBackupKeeper(keeperParts(foundations, backups, wifi.settings, hooks.storage)));
  const notifications = opened.use(openNotifications(opened, foundations, { mqtt, cloud, settings: wifi.settings }));
  const history = createHistoryStore({ store, trustedTime: foundations.trustedTime, clock });
  opened.use(startHousekeeping({ history, also: [automations.prune], leadership, clock, logger }));
  const keeper = opened.use(startKeeper(foundations, mqtt, budgetBytes));
  opened.use(foundations.space.onPressure(keeper));
  const begin = async (): Promise<void> => {
    // Health is ready from the first answer. A backend without its broker still serves people.
    await mqtt.isReadyWithin(brokerWaitMs);
    replicas?.begin([places.reload, messages.reload, commands.load]);
    await automations.begin();
  };
  return {
    features: {
      mqtt,
      unregistered,
      commands,
      firmware,
      automations,
      cloud,
      wifi,
      provisioning,
      backups,
      keeper,
      backupKeeper,
      notifications,
      reads: hooks.hasReadThread === true ? openReads(opened, foundations) : createLargeReads({ store, clock }),
    },
    begin,
  };
}

async function storageBudget({ dataDir, storageMaxBytes }: BackendConfig): Promise<number> {
  return storageMaxBytes ?? defaultBudget((await readDiskSpace(dataDir))?.totalBytes ?? Infinity);
}

function startKeeper({ host, store, leadership }: Foundations, mqtt: Mqtt, budgetBytes: number): StorageKeeper {
  const { clock, logger } = host;
  return startStorageKeeper({ store, budgetBytes, waiting: mqtt.waiting, leadership, clock, logger });
}

async function openUnregisteredDevices(
  opened: AsyncDisposableStack,
  foundations: Foundations,
  expected: Expected,
): Promise<RunningUnregisteredDevices> {
  const { config, host, store, devices, conditions, events, stationEvents, trustedTime } = foundations;
  const { clock, disk, logger } = host;
  const path = join(config.dataDir, 'added-devices.json');
  const { wasAddedAgain } = opened.use(await openAddedDevices({ disk, path, devices, events, logger }));
  return opened.use(
    startUnregisteredDevices({
      db: store.db,
      devices,
      expected,
      wasAddedAgain,
      conditions,
      events,
      stationEvents,
      trustedTime,
      clock,
      logger,
    }),
  );
}

async function startBrokerLink(
  foundations: Foundations,
  logins: readonly FileLogin[],
  unregistered: UnregisteredDevices,
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
    unregistered,
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

function openNotifications(
  opened: AsyncDisposableStack,
  { config, host, store: { db }, station, stationId, ...rest }: Foundations,
  { mqtt, cloud, settings }: { mqtt: Mqtt; cloud: Cloud | null; settings: SettingsStore },
): Notifications {
  const { types, conditions, events, settingsBox: box, leadership, trustedTime, tap } = rest;
  const { clock, random, logger } = host;
  const notifications = startNotifications({
    db,
    box,
    settings,
    station,
    stationId,
    conditions,
    events,
    leadership,
    trustedTime,
    clock,
    random,
    logger,
    agent: config.agent && createAgentClient(config.agent, config.agentToken),
    isBrokerReady: mqtt.isReady,
    cloudConditions: async () => {
      const status = await cloud?.status();
      return status === undefined ? [] : status.isHeldHere ? status.conditions : null;
    },
    typeNames: (type) => types.find(type)?.names ?? {},
    allow: config.webhookAllow,
    proxy: config.proxy,
    localMinutes: (epochMs, timeZone) => localTime(epochMs, timeZone).minutes,
  });
  opened.use(tap.subscribe(({ type }) => type === 'agent_event' && notifications.noteAgentEvent()));
  return notifications;
}

async function openStationHistory(foundations: Foundations): Promise<AsyncDisposable> {
  const { config, host, store, conditions, stationEvents: events, tap, trustedTime, leadership } = foundations;
  const { clock, logger } = host;
  return startStationHistory({
    events,
    conditions,
    messages: tap,
    trustedTime,
    leadership,
    clock,
    logger,
    standing: await standingConditions(store.db),
    agent: config.agent && createAgentClient(config.agent, config.agentToken),
    version: config.version,
  });
}

function startAutomations(foundations: Foundations, commands: Commands, mqtt: Mqtt): Automations {
  const { config, host, store, station, devices, types, events, leadership, replicas, trustedTime, conditions } =
    foundations;
  return createAutomations({
    store,
    devices,
    types,
    commands,
    events,
    trustedTime,
    broker: { isReady: mqtt.isReady, isEmbedded: config.mqtt.kind === 'embedded' },
    where: async () => {
      const row = await station.read();
      return { timeZone: row.time_zone, place: placeOf(row) };
    },
    leadership,
    conditions,
    isShared: replicas !== null,
    webhookAllow: config.webhookAllow,
    proxy: config.proxy,
    clock: host.clock,
    logger: host.logger,
  });
}
