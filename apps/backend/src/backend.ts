import { foundUrl } from '@station/protocol/station-name';
import { readDiskSpace } from './core/adapters/disk-space.ts';
import { createMachineNetwork } from './provisioning/adapters/machine-network.ts';
import { automationsModule } from './automations/automations-module.ts';
import { type Foundations, openPlatform } from './backend-platform.ts';
import { registerRoutes } from './backend-server.ts';
import { type BackupHooks, backupModule, openLostDatabase } from './backup/backup-module.ts';
import type { CloudTuning } from './cloud/cloud.ts';
import { cloudModule } from './cloud/cloud-module.ts';
import { consumersModule } from './consumers/consumers-module.ts';
import { cloudWriteAlong } from './cloud/start-cloud.ts';
import { type BackendConfig, secretsOf } from './config.ts';
import type { DeviceEvents } from './core/device-events.ts';
import type { Host } from './core/host.ts';
import { type DevicesDoor, devicesModule, zonesModule } from './devices/devices-module.ts';
import { startHousekeeping } from './history/downsampling.ts';
import { createHistoryStore } from './history/history-store.ts';
import { doctorModule } from './doctor/doctor-module.ts';
import { firmwareModule } from './firmware/firmware-module.ts';
import { gatewaysModule } from './gateways/gateways-module.ts';
import type { DescribedRoute } from './http/docs.ts';
import { guardHost } from './http/host-guard.ts';
import { closeInTime, createHttpServer, type HttpServer } from './http/server.ts';
import { notificationsModule } from './notifications/notifications-module.ts';
import type { PasswordHashes } from './people/password-hashes.ts';
import { peopleModule } from './people/people-module.ts';
import type { Module, Opened } from './platform/module.ts';
import { expectedDevicesModule, provisioningModule } from './provisioning/provisioning-module.ts';
import type { Radio } from './provisioning/radio.ts';
import { createSettingsStore } from './provisioning/settings-store.ts';
import { scenesModule } from './scenes/scenes-module.ts';
import { defaultBudget, outboxRoom } from './storage/storage-decide.ts';
import { storageModule } from './storage/storage-module.ts';
import type { Database } from './store/schema.ts';
import { systemModule } from './system/system-module.ts';

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
  /** Moves what devices reported into its tables. */
  settle(): Promise<void>;
};

/** `onRestart`: the agent, or a restore, asks for it. */
export type BackendHooks = BackupHooks & {
  /** The database file is damaged: stop and start again; the start repairs it. */
  onDamage(): void;
  /** The cloud reset the station: stop and start again, unclaimed. */
  onReset(): void;
  cloudTuning?: CloudTuning;
  /** Compares passwords and, on SQLite, answers large reads in threads of their own. */
  hasThreads?: boolean;
  /** Used by tests only, instead of Bluetooth. */
  radio?: Radio;
  /** Used by tests only, of a lower cost. */
  passwordHashes?: PasswordHashes;
  /** Used by tests only. */
  extraRoutes?: (app: HttpServer) => Promise<void>;
};

/**
 * The composition root: opens the platform and the features, then listens. Disposing stops in reverse order: it accepts no new connections,
 * finishes the current requests, then closes the features and the database.
 */
export async function startBackend(config: BackendConfig, host: Host, hooks: BackendHooks): Promise<Backend> {
  await using starting = new AsyncDisposableStack();
  const foundations = await openPlatform(starting, config, host, () => hooks.onDamage());
  const { store, events, trustedTime, leadership, host: ours } = foundations.platform;
  const { mqtt, devices, features } = await openFeatures(starting, config, foundations, hooks);
  const history = createHistoryStore({ store, trustedTime, clock: ours.clock });
  const also = features.flatMap(({ prune }) => prune ?? []);
  starting.use(startHousekeeping({ history, also, leadership, clock: ours.clock, logger: ours.logger }));
  const app = createHttpServer({ logger: host.logger });
  guardHost(app, { publicUrl: config.deviceBroker.publicUrl, publicName: config.publicName });
  // Before the routes, so that the server also closes when the start fails.
  starting.defer(() => closeInTime(app));
  const { extraRoutes } = hooks;
  const routes = await registerRoutes(app, { config, foundations, mqtt, devices, features, extraRoutes });
  for (const { begin } of features) await begin?.();
  const url = await app.listen({ port: config.port, host: config.host });
  for (const { settle } of features) await settle?.();
  const running = starting.move();
  return {
    url,
    mqttAddress: mqtt.addresses[0] ?? null,
    http: app,
    deviceEvents: events,
    routes,
    db: store.db,
    settle: store.logged.settle,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Every feature, in the order of the data: what one needs of another is there before it. */
async function openFeatures(
  starting: AsyncDisposableStack,
  config: BackendConfig,
  foundations: Foundations,
  hooks: BackendHooks,
): Promise<Pick<DevicesDoor, 'mqtt' | 'devices'> & { features: readonly Opened<unknown>[] }> {
  const { platform, replicas, storage, tap, settingsBox: box } = foundations;
  const features: Opened<unknown>[] = [];
  const add = async <Needs, Door>(module: Module<Needs, Door>, needs: Needs): Promise<Door> => {
    const feature = starting.use(await module.open(platform, needs));
    features.push(feature);
    return feature.door;
  };

  const { webhookAllow, proxy, version, dataDir, backupDir, database, stationCode } = config;
  const network = createMachineNetwork(platform.agent, platform.host.clock);
  const settings = createSettingsStore({ db: platform.store.db, box, clock: platform.host.clock });
  const budgetBytes = await storageBudget(config);

  const databaseFile = database.kind === 'sqlite' ? database.file : null;
  const isShared = replicas !== null;
  const expecting = await add(expectedDevicesModule, { isBrokerExternal: config.mqtt.kind === 'external', box });
  const gateways = await add(gatewaysModule, { isShared });
  const consumers = await add(consumersModule, { version, gateways: gateways.foreign, isShared });
  const household = await add(devicesModule, {
    config: {
      ...config,
      readThreadOf: hooks.hasThreads === true ? databaseFile : null,
      writeAlong: cloudWriteAlong(config.cloud),
    },
    expected: gateways.expected(expecting.expected),
    foreign: consumers.systems,
    places: foundations.places,
    storage,
    sharing: replicas,
  });
  const { mqtt, commands, devices, types } = household;
  consumers.begin(household);
  await add(firmwareModule, {
    config: config.firmware,
    publicUrl: async () => foundUrl(config.firmware.publicUrl, (await network()).mdnsName),
    commands,
    devices,
    types,
  });
  await add(provisioningModule, {
    config,
    expecting,
    household,
    settings: { store: settings, box },
    outside: {
      network,
      messages: tap,
      shareWatchers: (own) => replicas?.shareWatchers(own) ?? own,
      radio: hooks.radio,
    },
  });
  const { recheck } = await add(automationsModule, {
    config: { webhookAllow, proxy, isShared },
    devices,
    types,
    commands,
    broker: { isReady: mqtt.isReady, isEmbedded: config.mqtt.kind === 'embedded' },
  });
  await add(zonesModule, { onRemoved: recheck });
  const scenes = await add(scenesModule, { devices, types, commands, onScenesChanged: recheck });
  const cloud = await add(cloudModule, {
    config: cloudSettings(config, budgetBytes),
    household: { devices, types, commands, publish: mqtt.publishCommand, box },
    scenes,
    tap,
    others: replicas,
    hooks: { onReset: hooks.onReset, ...(hooks.cloudTuning && { tuning: hooks.cloudTuning }) },
  });
  await add(systemModule, {
    version,
    time: foundations.stationTime,
    machine: foundations.machine,
    messages: tap,
    onRestart: hooks.onRestart,
  });
  const ofBackups = { dataDir, backupDir, databaseFile, version, proxy };
  const lost = openLostDatabase(platform, ofBackups, hooks.storage);
  const { gate } = await add(peopleModule, {
    config: {
      stationCode,
      dataDir,
      version,
      hasThreads: hooks.hasThreads === true,
      passwordHashes: hooks.passwordHashes,
    },
    refreshKey: foundations.refreshKey,
    setupSeed: foundations.setupSeed,
    lost,
    onStationChanged: recheck,
  });
  await add(backupModule, { config: ofBackups, settings, gate, lost, hooks });
  await add(notificationsModule, {
    config: { webhookAllow, proxy },
    box,
    settings,
    messages: tap,
    facts: {
      isBrokerReady: mqtt.isReady,
      cloudConditions: async () => {
        const status = await cloud?.status();
        return status === undefined ? [] : status.isHeldHere ? status.conditions : null;
      },
      typeNames: (type) => types.find(type)?.names ?? {},
    },
  });
  await add(storageModule, { budgetBytes, waiting: mqtt.waiting, disk: foundations.space });
  await add(doctorModule, {
    config,
    secrets: secretsOf(config),
    readSecret: settings.readSecret,
    log: foundations.recentLog,
  });
  return { mqtt, devices, features };
}

async function storageBudget({ dataDir, storageMaxBytes }: BackendConfig): Promise<number> {
  return storageMaxBytes ?? defaultBudget((await readDiskSpace(dataDir))?.totalBytes ?? Infinity);
}

/** The outbox has its part of the storage. */
function cloudSettings({ cloud, database }: BackendConfig, budgetBytes: number): BackendConfig['cloud'] {
  const most = outboxRoom({ budgetBytes, isCopied: database.kind === 'sqlite' });
  return cloud && { ...cloud, outboxMaxBytes: Math.min(cloud.outboxMaxBytes, most) };
}
