import { createAgentClient } from './adapters/agent-client.ts';
import { registerAutomationRoutes } from './automations/automation-routes.ts';
import type { BackendHooks, Features, Foundations } from './backend-foundations.ts';
import { registerCloudRoutes } from './cloud/cloud-routes.ts';
import { createActivityStore } from './devices/activity-store.ts';
import { registerDeviceCommandRoutes } from './devices/command-routes.ts';
import { registerDeviceRoutes } from './devices/device-routes.ts';
import { createHistoryStore } from './devices/history-store.ts';
import { registerUnknownDeviceRoutes } from './devices/unknown-device-routes.ts';
import { createZoneStore, registerZoneRoutes } from './devices/zones.ts';
import { registerFirmwareRoutes } from './firmware/firmware-routes.ts';
import { registerOtaRoutes } from './firmware/ota-routes.ts';
import { enforceAccess } from './http/access.ts';
import {
  createRequireStationRole,
  createVerifyAgentToken,
  createVerifyDeviceToken,
  createVerifyToken,
} from './http/caller.ts';
import { registerConditionsRoute } from './http/conditions.ts';
import { collectRoutes, type DescribedRoute, registerDocsRoutes } from './http/docs.ts';
import { registerHealthRoute } from './http/health.ts';
import { createMetrics, registerMetrics } from './http/metrics.ts';
import { closingSignal, type HttpServer } from './http/server.ts';
import { registerWebApp } from './http/web-app.ts';
import { dropReasons } from './mqtt/dropped-messages.ts';
import { registerPeopleRoutes } from './people/people.ts';
import { registerSettingsRoutes } from './provisioning/settings.ts';
import { registerWifiChangeRoutes } from './provisioning/wifi-change-routes.ts';
import { registerSocketRoute } from './socket/connection.ts';
import { registerSystemRoutes } from './system/system-routes.ts';

/** Registers every route. @returns all of them, with their access rules. */
export async function registerRoutes(
  app: HttpServer,
  foundations: Foundations,
  features: Features,
  { onRestart, extraRoutes }: BackendHooks,
): Promise<readonly DescribedRoute[]> {
  const { config, host, store, station, hub, tokens, devices, types, refreshKey, setupSeed } = foundations;
  const { version, dataDir } = config;
  const { clock, logger } = host;
  const { db } = store;
  const routes = collectRoutes(app);
  const closing = closingSignal(app);
  enforceAccess(app, {
    verifyToken: createVerifyToken(tokens),
    requireStationRole: createRequireStationRole(station),
    verifyDeviceToken: createVerifyDeviceToken(devices.findByTokenHash),
    verifyAgentToken: createVerifyAgentToken(config.agentToken),
  });
  await registerHealth(app, foundations, features);
  await registerConditionsRoute(app, foundations);
  await registerPeopleRoutes(app, {
    ...host,
    db,
    station,
    accessTokens: tokens,
    refreshKey,
    stationCode: config.stationCode,
    setupSeed,
    dataDir,
    version,
  });
  const { changes } = features.wifi;
  await registerSettingsRoutes(app, { ...features.wifi, onOffer: changes.notify });
  await registerWifiChangeRoutes(app, features.wifi);
  await registerDevices(app, foundations, features);
  const agent = createAgentClient(config.agent, config.agentToken);
  await registerFirmwareRoutes(app, { firmware: features.firmware, agent });
  await registerOtaRoutes(app, { firmware: features.firmware, devices, types });
  await registerAutomationRoutes(app, { automations: features.automations.service });
  await registerCloudRoutes(app, { cloud: features.cloud });
  await registerSystemRoutes(app, { agent, tokens, clock, closing, onRestart });
  const describe = async () => {
    const { station_id: id, name } = await station.read();
    return { version, station: { id, name } };
  };
  await registerSocketRoute(app, { hub, tokens, clock, logger, describe });
  await registerDocsRoutes(app, { routes, version });
  if (config.webDir !== null) await registerWebApp(app, { directory: config.webDir });
  await extraRoutes?.(app);
  return routes;
}

/** The broker link reconnects once a second. A shorter gap does not make the backend unhealthy. */
const linkGapMs = 2_000;

async function registerHealth(app: HttpServer, foundations: Foundations, { mqtt }: Features): Promise<void> {
  const { config, store, hub, replicas } = foundations;
  const metrics = createMetrics();
  metrics.gauge('station_socket_clients', 'Clients logged in at /ws.', () => hub.size());
  await registerMetrics(app, metrics);
  for (const reason of dropReasons) {
    metrics.gauge(`station_mqtt_dropped_${reason}`, 'Messages that were dropped.', () => mqtt.dropped.count(reason));
  }
  const checks = { database: () => store.answers(), mqtt: () => mqtt.isReadyWithin(linkGapMs) };
  const replica = () => replicas && { id: replicas.id, leader: replicas.leadership.isLeader() };
  await registerHealthRoute(app, { checks, version: config.version, replica });
}

async function registerDevices(app: HttpServer, foundations: Foundations, features: Features): Promise<void> {
  const { host, store, devices, types, events } = foundations;
  const { commands, mqtt, strangers } = features;
  const { clock, logger } = host;
  const publish = mqtt.publishCommand;
  const zones = createZoneStore({ db: store.db, clock });
  const activity = createActivityStore(store.db);
  const history = createHistoryStore({ store, clock });
  await registerDeviceRoutes(app, { devices, zones, activity, history, events, publish, clock, logger });
  await registerUnknownDeviceRoutes(app, {
    unknown: strangers.unknown,
    devices,
    zones,
    answerHandshake: mqtt.answerHandshake,
    reconnect: mqtt.reconnect,
  });
  await registerDeviceCommandRoutes(app, { devices, types, commands });
  await registerZoneRoutes(app, { zones });
}
