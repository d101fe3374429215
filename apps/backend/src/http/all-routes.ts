import { join } from 'node:path';
import { createAgentClient, type AgentClient } from '../adapters/agent-client.ts';
import { createAuthService } from '../auth/auth-service.ts';
import { createLoginLimiter } from '../auth/login-limiter.ts';
import { createPasswords } from '../auth/passwords.ts';
import { createSessions } from '../auth/sessions.ts';
import { createSetupCode, type SetupCode } from '../auth/setup-code.ts';
import { createUserStore } from '../auth/user-store.ts';
import { createActivityStore } from '../devices/activity-store.ts';
import { createHistoryStore } from '../devices/history-store.ts';
import { createZoneStore } from '../devices/zone-store.ts';
import type { Log } from '../log.ts';
import { createMemberService } from '../members/member-service.ts';
import { dropReasons } from '../mqtt/dropped-messages.ts';
import { deriveSecrets } from '../replicas/shared-secrets.ts';
import type { Rooms } from '../rooms.ts';
import { openSecretBox } from '../settings/secret-box.ts';
import { createSettingsStore } from '../settings/settings-store.ts';
import { registerSocketRoute } from '../socket/route.ts';
import { createStationStore, type StationStore } from '../station/station-store.ts';
import { enforceAccess } from './access.ts';
import { closingSignal } from './closing.ts';
import { createRequireStationRole } from './hooks/require-station-role.ts';
import { createVerifyAgentToken } from './hooks/verify-agent-token.ts';
import { createVerifyDeviceToken } from './hooks/verify-device-token.ts';
import { createVerifyToken } from './hooks/verify-token.ts';
import { registerAuthRoutes } from './routes/auth.ts';
import { registerAutomationRoutes } from './routes/automations.ts';
import { registerCloudRoutes } from './routes/cloud.ts';
import { registerDeviceCommandRoutes } from './routes/device-commands.ts';
import { registerDeviceRoutes } from './routes/devices.ts';
import { collectRoutes, registerDocsRoutes, type DescribedRoute } from './routes/docs.ts';
import { registerFirmwareRoutes } from './routes/firmware.ts';
import { registerHealthRoute } from './routes/health.ts';
import { createMetrics, registerMetrics } from './routes/metrics.ts';
import { registerOtaRoutes } from './routes/ota.ts';
import { registerSettingsRoutes } from './routes/settings.ts';
import { registerStationRoutes } from './routes/station.ts';
import { registerSystemRoutes } from './routes/system.ts';
import { registerWebApp } from './routes/web-app.ts';
import { registerZoneRoutes } from './routes/zones.ts';
import type { HttpServer } from './server.ts';

/**
 * Registers every route over the rooms behind it.
 * @param extraRoutes of tests.
 * @returns all of them, with their access rules.
 */
export async function registerAllRoutes(
  app: HttpServer,
  rooms: Rooms,
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
  await registerSystemRoutes(app, { agent, tokens, clock, closing });
  const describe = async () => ({ version, station: await nameOf(station) });
  await registerSocketRoute(app, { hub, tokens, clock, log: host.log, describe });
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
  const { clock, disk, log } = host;
  const { db } = store;
  const users = createUserStore(db);
  const sessions = createSessions({ db, key: rooms.refreshKey, clock });
  const passwords = createPasswords();
  const shared = replicas !== null && config.jwtSecret !== null ? deriveSecrets(config.jwtSecret) : null;
  const setupCode = createSetupCode({ disk, path: join(config.dataDir, 'setup-code'), seed: shared?.setupSeed });
  const limiter = createLoginLimiter(clock);
  const people = { db, users, station, sessions, accessTokens, passwords, clock };
  const auth = createAuthService({ ...people, setupCode, limiter, log });
  await registerAuthRoutes(app, { auth, users, clock });
  await registerStationRoutes(app, { station, members: createMemberService(people), version: config.version });
  const box = await openSecretBox({ disk, path: join(config.dataDir, 'settings-key'), key: shared?.settingsKey });
  await registerSettingsRoutes(app, { settings: createSettingsStore({ db, box, clock }) });
  await tellSetupCode(log, setupCode, await auth.isSetupNeeded());
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

async function tellSetupCode(log: Log, setupCode: SetupCode, isNeeded: boolean): Promise<void> {
  if (!isNeeded) return;
  const message = 'Open the web app and enter this code to become the owner of the station.';
  log.event('setup_pending', { setupCode: await setupCode.read(), message });
}
