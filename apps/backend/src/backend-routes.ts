import { join } from 'node:path';
import { isoTime } from '@station/kit/clock';
import { createAgentClient } from './adapters/agent-client.ts';
import { createStorageProcess } from './adapters/storage-process.ts';
import { registerAutomationRoutes } from './automations/automation-routes.ts';
import type { BackendHooks, Features, Foundations } from './backend-foundations.ts';
import { registerBackupRoutes } from './backup/backup-routes.ts';
import { createDownloadLinks } from './backup/download-links.ts';
import { registerRestoreRoutes } from './backup/restore-routes.ts';
import { createLostDatabase, type LostDatabase } from './backup/lost-database.ts';
import { openUploads } from './backup/uploads.ts';
import { createVerifiedStore } from './backup/verified-store.ts';
import { registerCloudRoutes } from './cloud/cloud-routes.ts';
import { registerDeviceCommandRoutes } from './devices/command-routes.ts';
import { registerDeviceRoutes } from './devices/device-routes.ts';
import { registerFavouriteRoutes } from './devices/favourites.ts';
import { registerHistoryRoutes } from './devices/history-routes.ts';
import { createHistoryStore } from './devices/history-store.ts';
import { registerUnknownDeviceRoutes } from './devices/unknown-device-routes.ts';
import { createZoneStore, registerZoneRoutes } from './devices/zones.ts';
import { registerFirmwareRoutes } from './firmware/firmware-routes.ts';
import { registerOtaRoutes } from './firmware/ota-routes.ts';
import { enforceAccess } from './http/access.ts';
import {
  createAdmit,
  createRequireStationRole,
  createVerifyAgentToken,
  createVerifyDeviceToken,
  createVerifyMetricsToken,
  createVerifyToken,
} from './http/caller.ts';
import { registerConditionsRoute } from './http/conditions.ts';
import { collectRoutes, type DescribedRoute, registerDocsRoutes } from './http/docs.ts';
import { type HealthChecks, registerHealthRoute } from './http/health.ts';
import { createMetrics, registerMetrics } from './http/metrics.ts';
import { queueHeavyReads } from './http/read-queue.ts';
import { closingSignal, type HttpServer } from './http/server.ts';
import { registerWebApp } from './http/web-app.ts';
import { dropReasons } from './mqtt/dropped-messages.ts';
import { registerNotificationRoutes } from './notifications/notification-routes.ts';
import type { SetupGate } from './people/auth-routes.ts';
import { registerPeopleRoutes } from './people/people.ts';
import { registerProvisioningRoutes } from './provisioning/provisioning-routes.ts';
import { registerSettingsRoutes } from './provisioning/settings.ts';
import { registerWifiChangeRoutes } from './provisioning/wifi-change-routes.ts';
import { registerSceneRoutes } from './scenes/scene-routes.ts';
import { createScenes } from './scenes/scenes.ts';
import { registerSocketRoute } from './socket/connection.ts';
import { createFindSight } from './store/member-limits.ts';
import { secretsOf } from './config.ts';
import type { Storage } from './core/backup-destination.ts';
import { registerStationDoctor } from './doctor/station-doctor.ts';
import { registerClockRoutes } from './system/clock-routes.ts';
import { registerOperatorRoutes } from './system/operator-routes.ts';
import { registerSystemRoutes } from './system/system-routes.ts';

/** Registers every route. @returns all of them, with their access rules. */
export async function registerRoutes(
  app: HttpServer,
  foundations: Foundations,
  features: Features,
  { onRestart, extraRoutes, storage }: BackendHooks,
): Promise<readonly DescribedRoute[]> {
  const { config, host, store, station, hub, tokens, devices, types, refreshKey, setupSeed } = foundations;
  const { version, dataDir } = config;
  const { clock, logger } = host;
  const { db } = store;
  const findSight = createFindSight(db);
  const routes = collectRoutes(app);
  const closing = closingSignal(app);
  queueHeavyReads(app);
  enforceAccess(app, {
    verifyToken: createVerifyToken(tokens),
    admit: createAdmit(findSight),
    requireStationRole: createRequireStationRole(station),
    verifyDeviceToken: createVerifyDeviceToken(devices.findByTokenHash),
    verifyAgentToken: createVerifyAgentToken(config.agentToken),
    verifyMetricsToken: createVerifyMetricsToken(config.metricsToken),
  });
  await registerHealth(app, foundations, features);
  await registerConditionsRoute(app, foundations);
  const lost = openLostDatabase(foundations, storage);
  const gate = await registerPeopleRoutes(app, {
    ...host,
    lost,
    db,
    station,
    accessTokens: tokens,
    trustedTime: foundations.trustedTime,
    events: foundations.stationEvents,
    onStationChanged: features.automations.recheck,
    refreshKey,
    stationCode: config.stationCode,
    setupSeed,
    dataDir,
    version,
  });
  await registerBackups(app, foundations, features, { gate, lost, onRestart });
  const { changes } = features.wifi;
  await registerSettingsRoutes(app, { ...features.wifi, onOffer: changes.notify });
  await registerWifiChangeRoutes(app, features.wifi);
  await registerDevices(app, foundations, features);
  const { has: hasZone } = createZoneStore({ db, clock });
  const { settings, checkPassword } = features.wifi;
  await registerProvisioningRoutes(app, { ...features.provisioning, settings, checkPassword, hasZone });
  const agent = createAgentClient(config.agent, config.agentToken);
  await registerFirmwareRoutes(app, { firmware: features.firmware, agent });
  await registerOtaRoutes(app, { firmware: features.firmware, devices, types });
  await registerAutomationRoutes(app, { automations: features.automations.service });
  await registerNotificationRoutes(app, features.notifications);
  await registerScenes(app, foundations, features);
  await registerCloudRoutes(app, { cloud: features.cloud });
  await registerStationDoctor(app, {
    config,
    store,
    agent,
    clock,
    closing,
    secrets: secretsOf(config),
    readSecret: features.wifi.settings.readSecret,
    conditions: foundations.conditions.list,
    trustedTime: foundations.trustedTime,
    log: foundations.recentLog,
  });
  await registerSystemRoutes(app, { agent, tokens, clock, closing, onRestart });
  await registerOperatorRoutes(app, { agent, tokens, clock, closing, logger });
  const { stationTime: time } = foundations;
  await registerClockRoutes(app, { agent, time, clock, machine: foundations.machine });
  const describe = async () => {
    const { station_id: id, name } = await station.read();
    return { version, station: { id, name } };
  };
  await registerSocketRoute(app, { hub, tokens, findSight, clock, logger, describe });
  await registerDocsRoutes(app, { routes, version });
  if (config.webDir !== null) await registerWebApp(app, { directory: config.webDir });
  await extraRoutes?.(app);
  return routes;
}

const copiesIn = (dataDir: string): string => join(dataDir, 'backup-uploads');

function openLostDatabase(
  { config, host: { disk }, stationId }: Foundations,
  storage: Storage = createStorageProcess(config.proxy),
): LostDatabase {
  const { dataDir, backupDir, database } = config;
  const file = database.kind === 'sqlite' ? database.file : null;
  return createLostDatabase({ dataDir, backupDir, stationId, storage, disk, file, copies: copiesIn(dataDir) });
}

async function registerBackups(
  app: HttpServer,
  { config, host, store, stationId }: Foundations,
  { backups: engine, backupKeeper: keeper }: Features,
  { gate, lost, onRestart }: { gate: SetupGate; lost: LostDatabase; onRestart: () => void },
): Promise<void> {
  const copies = copiesIn(config.dataDir);
  const uploads = await openUploads(copies);
  const verified = createVerifiedStore(store.db);
  await registerBackupRoutes(app, { keeper, verified, links: createDownloadLinks(host.clock) });
  await registerRestoreRoutes(app, { engine, keeper, uploads, lost, copies, stationId, ...gate, onRestart });
}

/** The broker link reconnects once a second. A shorter gap does not make the backend unhealthy. */
const linkGapMs = 2_000;

async function registerHealth(app: HttpServer, foundations: Foundations, { mqtt, keeper }: Features): Promise<void> {
  const { config, storage, hub, replicas } = foundations;
  const metrics = createMetrics();
  metrics.gauge('station_socket_clients', 'Clients logged in at /ws.', () => hub.size());
  await registerMetrics(app, metrics);
  metrics.counter({
    name: 'station_mqtt_dropped_messages_total',
    help: 'Messages of devices that were dropped.',
    labels: ['reason'],
    read: () => dropReasons.map((reason) => ({ labels: { reason }, value: mqtt.dropped.count(reason) })),
  });
  metrics.gauge(
    'station_storage_budget_bytes',
    'Most space of the database with its copies.',
    () => keeper.budgetBytes,
  );
  metrics.gauge('station_storage_used_bytes', 'Space of the database with its copies.', keeper.usedBytes);
  metrics.counter({
    name: 'station_history_dropped_total',
    help: 'History of devices that was dropped: over the rate of a device, or because the storage was full.',
    labels: ['reason', 'kind'],
    read: () => {
      const { rateEvents, rateValues, sizeEvents, sizeValues } = keeper.dropped();
      return [
        { labels: { reason: 'rate', kind: 'events' }, value: rateEvents },
        { labels: { reason: 'rate', kind: 'values' }, value: rateValues },
        { labels: { reason: 'size', kind: 'events' }, value: sizeEvents },
        { labels: { reason: 'size', kind: 'values' }, value: sizeValues },
      ];
    },
  });
  const checks: HealthChecks = {
    database: storage.check,
    mqtt: async () => ((await mqtt.isReadyWithin(linkGapMs)) ? null : 'not connected'),
  };
  const replica = () => replicas && { id: replicas.id, leader: replicas.leadership.isLeader() };
  await registerHealthRoute(app, { checks, version: config.version, replica });
}

async function registerScenes(
  app: HttpServer,
  { host: { clock }, store: { db }, devices, types, hub }: Foundations,
  { commands, automations }: Features,
): Promise<void> {
  const onChanged = async (): Promise<void> => {
    await automations.recheck();
    hub.broadcast({ type: 'scenes_changed', at: isoTime(clock.now()) }, 'scenes_changed');
  };
  const scenes = createScenes({ db, devices, types, commands, onChanged, clock });
  await registerSceneRoutes(app, { scenes });
}

async function registerDevices(app: HttpServer, foundations: Foundations, features: Features): Promise<void> {
  const { host, store, devices, types, events, stationEvents, hub, tokens } = foundations;
  const { commands, mqtt, unregistered } = features;
  const { clock, logger } = host;
  const publish = mqtt.publishCommand;
  const zones = createZoneStore({ db: store.db, clock });
  const history = createHistoryStore({ store, clock });
  const { reads } = features;
  await registerDeviceRoutes(app, { devices, zones, reads, events, stationEvents, publish, clock, logger });
  await registerHistoryRoutes(app, { store, devices, history, reads, clock });
  await registerUnknownDeviceRoutes(app, {
    unknown: unregistered.unknown,
    devices,
    zones,
    answerHandshake: mqtt.answerHandshake,
    reconnect: mqtt.reconnect,
  });
  await registerDeviceCommandRoutes(app, { devices, types, commands });
  const onRemoved = async (limited: readonly string[]): Promise<void> => {
    for (const userId of limited) tokens.revoke(userId);
    await features.automations.recheck();
  };
  await registerZoneRoutes(app, { zones, hub, clock, onRemoved });
  await registerFavouriteRoutes(app, { db: store.db, devices });
}
