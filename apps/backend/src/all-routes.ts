import { join } from 'node:path';
import { createAgentClient, type AgentClient } from './adapters/agent-client.ts';
import { createAuthService } from './people/auth-service.ts';
import { createLoginLimiter } from './people/login-limiter.ts';
import { createPasswords } from './people/passwords.ts';
import { createSessions } from './people/sessions.ts';
import { createSetupCode, type SetupCode } from './people/setup-code.ts';
import { createUserStore } from './store/user-store.ts';
import { createActivityStore } from './devices/activity-store.ts';
import { createHistoryStore } from './devices/history-store.ts';
import { createZoneStore } from './devices/zone-store.ts';
import type { BackendLogger } from '@station/kit/logger';
import { createMemberService } from './people/member-service.ts';
import { dropReasons } from './mqtt/dropped-messages.ts';
import { deriveSecrets } from './core/secrets.ts';
import type { Rooms } from './rooms.ts';
import { openSecretBox } from './store/secret-box.ts';
import { createSettingsStore } from './provisioning/settings-store.ts';
import { registerSocketRoute } from './socket/route.ts';
import { createStationStore, type StationStore } from './store/station-store.ts';
import { enforceAccess } from './http/access.ts';
import { closingSignal } from './http/closing.ts';
import { createRequireStationRole } from './http/hooks/require-station-role.ts';
import { createVerifyAgentToken } from './http/hooks/verify-agent-token.ts';
import { createVerifyDeviceToken } from './http/hooks/verify-device-token.ts';
import { createVerifyToken } from './http/hooks/verify-token.ts';
import { registerAuthRoutes } from './people/auth-routes.ts';
import { registerAutomationRoutes } from './automations/automation-routes.ts';
import { registerCloudRoutes } from './cloud/cloud-routes.ts';
import { registerDeviceCommandRoutes } from './devices/command-routes.ts';
import { registerDeviceRoutes } from './devices/device-routes.ts';
import { collectRoutes, registerDocsRoutes, type DescribedRoute } from './http/docs.ts';
import { registerFirmwareRoutes } from './firmware/firmware-routes.ts';
import { registerHealthRoute } from './http/health.ts';
import { createMetrics, registerMetrics } from './http/metrics.ts';
import { registerOtaRoutes } from './firmware/ota-routes.ts';
import { registerSettingsRoutes } from './provisioning/settings-routes.ts';
import { registerStationRoutes } from './people/station-routes.ts';
import { registerSystemRoutes } from './system/system-routes.ts';
import { registerWebApp } from './http/web-app.ts';
import { registerZoneRoutes } from './devices/zone-routes.ts';
import type { HttpServer } from './http/server.ts';

/**
 * Registers every route over the rooms behind it.
 * @param extraRoutes of tests.
 * @returns all of them, with their access rules.
 */
export async function registerAllRoutes(
  app: HttpServer,
  rooms: Rooms,
  onRestart: () => void,
  extraRoutes: ((app: HttpServer) => Promise<void>) | undefined,
): Promise<readonly DescribedRoute[]> {
  const { config, tokens, devices, store } = rooms;
  const { version } = config;
  const routes = collectRoutes(app);
  const closing = closingSignal(app);
  const station = createStationStore(store.db);
  enforceAccess(app, {
    verifyToken: createVerifyToken(tokens),
    requireStationRole: createRequireStationRole(station),
    verifyDeviceToken: createVerifyDeviceToken(devices.findByTokenHash),
    verifyAgentToken: createVerifyAgentToken(config.agentToken),
  });
  await registerHealth(app, rooms);
  await registerPeople(app, rooms, station);
  const agent = createAgentClient(config.agent, config.agentToken);
  await registerDevices(app, rooms, agent);
  const { hub, host } = rooms;
  const { clock } = host;
  await registerSystemRoutes(app, { agent, tokens, clock, closing, onRestart });
  const describe = async () => ({ version, station: await nameOf(station) });
  await registerSocketRoute(app, { hub, tokens, clock, logger: host.logger, describe });
  await registerDocsRoutes(app, { routes, version });
  if (config.webDir !== null) await registerWebApp(app, { directory: config.webDir });
  await extraRoutes?.(app);
  return routes;
}

/** A link to the broker that ends comes back within it (each second it is tried): no reason to call a backend unwell. */
const linkGapMs = 2_000;

async function registerHealth(app: HttpServer, { config, store, mqtt, hub, replicas }: Rooms): Promise<void> {
  const metrics = createMetrics();
  metrics.gauge('station_socket_clients', 'Clients logged in at /ws.', () => hub.size());
  await registerMetrics(app, metrics);
  for (const reason of dropReasons) {
    metrics.gauge(`station_mqtt_dropped_${reason}`, 'Messages that were not taken.', () => mqtt.dropped.count(reason));
  }
  const checks = { database: () => store.answers(), mqtt: () => mqtt.isWellWithin(linkGapMs) };
  const replica = () => replicas && { id: replicas.id, leader: replicas.leadership.isLeader() };
  await registerHealthRoute(app, { checks, version: config.version, replica });
}

/** Accounts, members, settings. */
async function registerPeople(app: HttpServer, rooms: Rooms, station: StationStore): Promise<void> {
  const { config, host, store, tokens: accessTokens, replicas } = rooms;
  const { clock, disk, logger } = host;
  const { db } = store;
  const users = createUserStore(db);
  const sessions = createSessions({ db, key: rooms.refreshKey, clock });
  const passwords = createPasswords();
  const shared = replicas !== null && config.jwtSecret !== null ? deriveSecrets(config.jwtSecret) : null;
  const setupCode = createSetupCode({ disk, path: join(config.dataDir, 'setup-code'), seed: shared?.setupSeed });
  const limiter = createLoginLimiter(clock);
  const people = { db, users, station, sessions, accessTokens, passwords, clock };
  const auth = createAuthService({ ...people, setupCode, limiter, logger });
  await registerAuthRoutes(app, { auth, users, clock });
  await registerStationRoutes(app, { station, members: createMemberService(people), version: config.version });
  const box = await openSecretBox({ disk, path: join(config.dataDir, 'settings-key'), key: shared?.settingsKey });
  await registerSettingsRoutes(app, { settings: createSettingsStore({ db, box, clock }) });
  await tellSetupCode(logger, setupCode, await auth.isSetupNeeded());
}

/** Devices and what is done with them. */
async function registerDevices(app: HttpServer, rooms: Rooms, agent: AgentClient): Promise<void> {
  const { host, store, devices, events, commands, firmware, cloud, automations } = rooms;
  const { clock } = host;
  const { db } = store;
  const zones = createZoneStore({ db, clock });
  const activity = createActivityStore(db);
  const history = createHistoryStore({ store, clock });
  await registerDeviceRoutes(app, { devices, zones, activity, history, events, clock });
  await registerDeviceCommandRoutes(app, { devices, commands });
  await registerZoneRoutes(app, { zones });
  await registerFirmwareRoutes(app, { firmware, agent });
  await registerOtaRoutes(app, { firmware, devices });
  await registerAutomationRoutes(app, { automations: automations.service });
  await registerCloudRoutes(app, { cloud });
}

async function nameOf(station: StationStore): Promise<{ id: string; name: string }> {
  const { station_id: id, name } = await station.read();
  return { id, name };
}

async function tellSetupCode(logger: BackendLogger, setupCode: SetupCode, isNeeded: boolean): Promise<void> {
  if (!isNeeded) return;
  const message = 'Open the web app and enter this code to become the owner of the station.';
  logger.event('setup_pending', { setupCode: await setupCode.read(), message });
}
