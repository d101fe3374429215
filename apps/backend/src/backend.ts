import { join } from 'node:path';
import { type Automations, createAutomations } from './automations/automations.ts';
import { type BackendHooks, type Features, type Foundations, openFoundations } from './backend-foundations.ts';
import { registerRoutes } from './backend-routes.ts';
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
import { type FileLogin, importDevices } from './devices/devices-file.ts';
import { createHistoryStore } from './devices/history-store.ts';
import { type RunningStrangers, startStrangers } from './devices/strangers.ts';
import { startHousekeeping } from './devices/downsampling.ts';
import { startFirmware } from './firmware/firmware.ts';
import type { DescribedRoute } from './http/docs.ts';
import { closeInTime, createHttpServer, type HttpServer } from './http/server.ts';
import { type Mqtt, startMqtt } from './mqtt/mqtt.ts';
import type { Strangers, WriteReports } from './mqtt/ports.ts';
import { createSettingsStore } from './provisioning/settings-store.ts';
import { startWifiChanges } from './provisioning/wifi-change.ts';
import { createWifiChangeStore } from './provisioning/wifi-change-store.ts';
import { createWifiOffers } from './provisioning/wifi-offer.ts';
import { createCommandStore, localCommandTransaction } from './store/command-store.ts';
import { createRemovedLogins } from './store/removed-device-store.ts';
import { writeReports } from './store/report-store.ts';
import type { Database } from './store/schema.ts';
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
  // Registered before the routes, so that the server also closes when the start fails.
  starting.defer(() => closeInTime(app));
  const routes = await registerRoutes(app, foundations, features, hooks);
  await begin();
  const url = await app.listen({ port: config.port, host: config.host });
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
  const strangers = await openStrangers(opened, foundations);
  const mqtt = opened.use(await startBrokerLink(foundations, logins, strangers));
  const commands = opened.use(startCommands(foundations, mqtt));
  await commands.load();
  const { isLeader } = leadership;
  const parts = { db: store.db, hub, events, commands, isLeader, clock, logger };
  const firmware = opened.use(startFirmware({ config: config.firmware, ...parts }));
  const cloud = await startCloudLink(foundations, commands, mqtt, hooks);
  if (cloud !== null) opened.use(cloud);
  const wifi = openWifiChanges(foundations, mqtt);
  opened.use(wifi.changes);
  const automations = opened.use(startAutomations(foundations, commands, mqtt));
  opened.use(startAgentEvents(config, host, hub));
  const history = createHistoryStore({ store, clock });
  opened.use(startHousekeeping({ history, also: [automations.prune], leadership, clock, logger }));
  const begin = async (): Promise<void> => {
    // Health is ready from the first answer. A backend without its broker still serves people.
    await mqtt.isReadyWithin(brokerWaitMs);
    replicas?.begin([messages.reload, commands.load]);
    await automations.begin();
  };
  return { features: { mqtt, strangers, commands, firmware, automations, cloud, wifi }, begin };
}

async function openStrangers(opened: AsyncDisposableStack, foundations: Foundations): Promise<RunningStrangers> {
  const { config, host, store, devices, conditions, events } = foundations;
  const { clock, disk, logger } = host;
  const path = join(config.dataDir, 'added-devices.json');
  const { wasAddedAgain } = opened.use(await openAddedDevices({ disk, path, devices, events, logger }));
  return opened.use(startStrangers({ db: store.db, devices, wasAddedAgain, conditions, events, clock, logger }));
}

async function startBrokerLink(
  foundations: Foundations,
  logins: readonly FileLogin[],
  strangers: Strangers,
): Promise<Mqtt> {
  const { config, host, store, stationId, devices, types, conditions, events, replicas } = foundations;
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
    conditions,
    writeReports: write,
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
  { onReset, cloudTuning: tuning = {} }: BackendHooks,
): Promise<Cloud | null> {
  const { config, host, store, stationId, devices, types, events, hub, tap, tokens, settingsBox } = foundations;
  const { leadership } = foundations;
  const facts = { stationId, store, devices, types, commands, publish, events, hub, tap, tokens, box: settingsBox };
  return startCloudOf(config.cloud, { ...host, ...facts, leadership, others: foundations.replicas, onReset, tuning });
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

function startAutomations(foundations: Foundations, commands: Commands, mqtt: Mqtt): Automations {
  const { config, host, store, station, devices, types, events, leadership, replicas } = foundations;
  return createAutomations({
    store,
    devices,
    types,
    commands,
    events,
    broker: { isReady: mqtt.isReady, isEmbedded: config.mqtt.kind === 'embedded' },
    timeZone: async () => (await station.read()).time_zone,
    leadership,
    isShared: replicas !== null,
    webhookAllow: config.webhookAllow,
    clock: host.clock,
    logger: host.logger,
  });
}
