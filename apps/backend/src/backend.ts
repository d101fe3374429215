import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { isoTime, type Clock } from '@station/kit/clock';
import type { Disk } from '@station/kit/files';
import { createAgentClient } from './adapters/agent-client.ts';
import { createAccessTokens, type AccessTokens } from './auth/access-tokens.ts';
import { createAuthService } from './auth/auth-service.ts';
import { readJwtSecret } from './auth/jwt-secret.ts';
import { createLoginLimiter } from './auth/login-limiter.ts';
import { createPasswords } from './auth/passwords.ts';
import { createSessions } from './auth/sessions.ts';
import { createBroadcastTap } from './cloud/broadcast-tap.ts';
import type { Cloud, CloudTuning } from './cloud/cloud.ts';
import { cloudWriteAlong, startCloudOf } from './cloud/start.ts';
import { createAutomations } from './automations/automations.ts';
import { createSetupCode, type SetupCode } from './auth/setup-code.ts';
import { createUserStore } from './auth/user-store.ts';
import type { BackendConfig } from './config.ts';
import { createActivityStore } from './devices/activity-store.ts';
import { createCommandStore, tellHere } from './devices/command-store.ts';
import { createCommands, type Commands } from './devices/commands.ts';
import { createDeviceEvents, type DeviceEvents } from './devices/device-events.ts';
import { createDeviceStore, type DeviceStore } from './devices/device-store.ts';
import { importDevices, type FileLogin } from './devices/devices-file.ts';
import { createHistoryStore } from './devices/history-store.ts';
import { startHousekeeping } from './devices/housekeeping.ts';
import { createZoneStore } from './devices/zone-store.ts';
import { startFirmware, type Firmware } from './firmware/firmware.ts';
import { enforceAccess } from './http/access.ts';
import { createRequireStationRole } from './http/hooks/require-station-role.ts';
import { createVerifyAgentToken } from './http/hooks/verify-agent-token.ts';
import { createVerifyDeviceToken } from './http/hooks/verify-device-token.ts';
import { createVerifyToken } from './http/hooks/verify-token.ts';
import { registerAuthRoutes } from './http/routes/auth.ts';
import { registerAutomationRoutes } from './http/routes/automations.ts';
import { registerCloudRoutes } from './http/routes/cloud.ts';
import { registerDeviceCommandRoutes } from './http/routes/device-commands.ts';
import { registerDeviceRoutes } from './http/routes/devices.ts';
import { collectRoutes, registerDocsRoutes, type DescribedRoute } from './http/routes/docs.ts';
import { registerFirmwareRoutes } from './http/routes/firmware.ts';
import { registerHealthRoute } from './http/routes/health.ts';
import { createMetrics, registerMetrics } from './http/routes/metrics.ts';
import { registerOtaRoutes } from './http/routes/ota.ts';
import { registerSettingsRoutes } from './http/routes/settings.ts';
import { registerStationRoutes } from './http/routes/station.ts';
import { registerSystemRoutes } from './http/routes/system.ts';
import { registerWebApp } from './http/routes/web-app.ts';
import { registerZoneRoutes } from './http/routes/zones.ts';
import { createHttpServer, type HttpServer } from './http/server.ts';
import type { Log } from './log.ts';
import { createMemberService } from './members/member-service.ts';
import { dropReasons } from './mqtt/dropped-messages.ts';
import { startMqtt, type Mqtt } from './mqtt/mqtt.ts';
import { alwaysLeader } from './replicas/leadership.ts';
import type { Replicas } from './replicas/replicas.ts';
import { deriveSecrets } from './replicas/shared-secrets.ts';
import { startSharing } from './replicas/start-sharing.ts';
import { openSecretBox } from './settings/secret-box.ts';
import { createSettingsStore } from './settings/settings-store.ts';
import { startDeviceMessages } from './socket/device-messages.ts';
import { createSocketHub, type SocketHub } from './socket/hub.ts';
import { registerSocketRoute } from './socket/route.ts';
import { createStationStore, ensureStation, type StationStore } from './station/station-store.ts';
import { openStore, type Store } from './store/database.ts';
import { migrations } from './store/migrations/all.ts';
import type { Database } from './store/schema.ts';
import { startAgentLink } from './system/agent-link.ts';
import { closeCodes } from '@station/protocol/socket';

export type Host = { clock: Clock; disk: Disk; log: Log; random: () => number; timeZone: string };

export type BackendHooks = {
  onDamage(): void;
  onReset(): void;
  cloudTuning?: CloudTuning;
  extraRoutes?: (app: HttpServer) => Promise<void>;
};

export type Backend = AsyncDisposable & {
  /** Where it listens, e.g. `http://127.0.0.1:3000`. */
  url: string;
  /** Of the embedded broker, e.g. `mqtt://127.0.0.1:1883`; null with another one. */
  mqttAddress: string | null;
  http: HttpServer;
  deviceEvents: DeviceEvents;
  /** Everything that is registered, with its access rule. */
  routes: readonly DescribedRoute[];
  db: Database;
};

/** How long requests that are under way may take when the backend stops; with the rest it must be over within 5 s. */
const drainMs = 3_000;
/** How long the start waits for a broker that does not answer. */
const brokerWaitMs = 2_000;

/**
 * Builds the whole backend and starts listening. Disposing it stops in reverse order: no new connections, requests under way
 * are finished, then the links and the database are closed.
 * @param onDamage the database file proved damaged: stop and start again, and it is mended.
 * @param onReset the cloud reset the station: stop and start again, unclaimed.
 */
export async function startBackend(
  config: BackendConfig,
  machine: Host,
  { onDamage, onReset, cloudTuning = {}, extraRoutes }: BackendHooks,
): Promise<Backend> {
  const { disk, log } = machine;
  await using starting = new AsyncDisposableStack();
  await disk.makeDirectory(config.dataDir, 0o700);
  const opening = { config: config.database, migrations, clock: machine.clock, disk, log, onDamage };
  const store = starting.use(await openStore(opening));
  const tap = createBroadcastTap();
  const hub = tap.on(createSocketHub());
  const replicas = await startSharing(config, machine, store.db, hub);
  if (replicas !== null) starting.use(replicas);
  const clock = replicas?.clock ?? machine.clock;
  const host = { ...machine, clock };
  const { stationId } = config;
  await ensureStation(store.db, { stationId, generateId: randomUUID, timeZone: host.timeZone, clock });

  const secret = await readJwtSecret({ configured: config.jwtSecret, disk, path: join(config.dataDir, 'jwt-secret') });
  log.keepSecret(secret);
  const tokens = createAccessTokens({ secret, clock });
  starting.use(tokens.onRevoke((userId) => hub.closeUser(userId, closeCodes.unauthorized, 'Log in again')));

  if (replicas !== null) starting.use(await replicas.shareRevocations(tokens));

  const happenings = createDeviceEvents(log);
  const deviceEvents = replicas?.share(happenings) ?? happenings;
  const devices = createDeviceStore({ db: store.db, clock });
  const told = starting.use(await startDeviceMessages({ hub, events: deviceEvents, devices, clock }));
  const logins = await importDevicesFile(config, host, store.db);
  const { station_id } = await createStationStore(store.db).read();
  const mqtt = starting.use(
    await startMqtt({
      config: config.mqtt,
      stationId: station_id,
      replicas,
      logins,
      store,
      devices,
      events: deviceEvents,
      writeAlong: cloudWriteAlong(config),
      clock,
      disk,
      log,
    }),
  );
  const commands = starting.use(
    createCommands({
      findDevice: async (id) => {
        const device = await devices.findById(id);
        return device && { id, externalId: device.external_id, type: device.type };
      },
      publish: mqtt.publishCommand,
      store: createCommandStore({
        db: store.db,
        tell: replicas?.tellCommands ?? tellHere(store.db, deviceEvents),
      }),
      events: deviceEvents,
      clock,
      log,
    }),
  );
  await commands.load();
  const { leadership = alwaysLeader } = replicas ?? {};
  const { isLeader } = leadership;
  const firmware = starting.use(
    startFirmware({ config: config.firmware, db: store.db, hub, events: deviceEvents, commands, isLeader, clock, log }),
  );

  const { publishCommand: publish } = mqtt;
  const facts = { stationId: station_id, store, devices, commands, publish, events: deviceEvents, hub, tap, tokens };
  const cloud = await startCloudOf(config, { ...host, ...facts, leadership, onReset, tuning: cloudTuning });
  if (cloud !== null) starting.use(cloud);

  const automations = starting.use(
    createAutomations({
      store,
      devices,
      commands,
      events: deviceEvents,
      broker: { isWell: mqtt.isWell, isEmbedded: config.mqtt.kind === 'embedded' },
      timeZone: async () => (await createStationStore(store.db).read()).time_zone,
      leadership,
      isShared: replicas !== null,
      webhookAllow: config.webhookAllow,
      clock,
      log,
    }),
  );

  const app = createHttpServer({ log });
  // Even when the start fails half way.
  starting.defer(() => closeInTime(app));
  const routes = collectRoutes(app);
  const closing = closingSignal(app);
  const parts = {
    config,
    host,
    store,
    tokens,
    hub,
    routes,
    closing,
    deviceEvents,
    devices,
    mqtt,
    commands,
    firmware,
    cloud,
    replicas,
  };
  await registerEverything(app, parts, extraRoutes);
  await registerAutomationRoutes(app, { automations: automations.service });
  starting.use(startAgentEvents(config, host, hub));
  const also = [automations.thinOut];
  starting.use(
    startHousekeeping({ history: createHistoryStore({ db: store.db, clock }), also, leadership, clock, log }),
  );

  await waitForBroker(mqtt, clock);
  replicas?.begin([told.reload, commands.load]);
  await automations.begin();
  const url = await app.listen({ port: config.port, host: config.host });
  const running = starting.move();
  return {
    url,
    mqttAddress: mqtt.address,
    http: app,
    deviceEvents,
    routes,
    db: store.db,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

type Parts = {
  config: BackendConfig;
  host: Host;
  store: Store;
  tokens: AccessTokens;
  hub: SocketHub;
  routes: readonly DescribedRoute[];
  closing: AbortSignal;
  deviceEvents: DeviceEvents;
  devices: DeviceStore;
  mqtt: Mqtt;
  commands: Commands;
  firmware: Firmware;
  cloud: Cloud | null;
  replicas: Replicas | null;
};

async function registerEverything(
  app: HttpServer,
  {
    config,
    host,
    store,
    tokens,
    hub,
    routes,
    closing,
    deviceEvents,
    devices,
    mqtt,
    commands,
    firmware,
    cloud,
    replicas,
  }: Parts,
  extraRoutes: ((app: HttpServer) => Promise<void>) | undefined,
): Promise<void> {
  const { clock, disk, log } = host;
  const { db } = store;
  const station = createStationStore(db);
  const users = createUserStore(db);
  const sessions = createSessions({ db, clock });
  const passwords = createPasswords();
  const shared = replicas !== null && config.jwtSecret !== null ? deriveSecrets(config.jwtSecret) : null;
  const setupCode = createSetupCode({ disk, path: join(config.dataDir, 'setup-code'), seed: shared?.setupSeed });
  const limiter = createLoginLimiter(clock);
  const accessTokens = tokens;
  const auth = createAuthService({
    db,
    users,
    station,
    sessions,
    accessTokens,
    passwords,
    setupCode,
    limiter,
    clock,
    log,
  });
  const members = createMemberService({ db, passwords, sessions, accessTokens, clock });
  const { version } = config;

  enforceAccess(app, {
    verifyToken: createVerifyToken(tokens),
    requireStationRole: createRequireStationRole(station),
    verifyDeviceToken: createVerifyDeviceToken(devices.findByTokenHash),
    verifyAgentToken: createVerifyAgentToken(config.agentToken),
  });
  const metrics = createMetrics();
  metrics.gauge('station_socket_clients', 'Clients logged in at /ws.', () => hub.size());
  await registerMetrics(app, metrics);
  for (const reason of dropReasons) {
    metrics.gauge(`station_mqtt_dropped_${reason}`, 'Messages that were not taken.', () => mqtt.dropped.count(reason));
  }
  const checks = { database: () => store.answers(), mqtt: async () => mqtt.isWell() };
  const replica = () => replicas && { id: replicas.id, leader: replicas.leadership.isLeader() };
  await registerHealthRoute(app, { checks, version, replica });
  await registerAuthRoutes(app, { auth, users, clock });
  await registerStationRoutes(app, { station, members, version });
  const zones = createZoneStore({ db, clock });
  const activity = createActivityStore(db);
  const history = createHistoryStore({ db, clock });
  await registerDeviceRoutes(app, { devices, zones, activity, history, events: deviceEvents, clock });
  await registerDeviceCommandRoutes(app, { devices, commands });
  await registerZoneRoutes(app, { zones });
  await registerFirmwareRoutes(app, firmware);
  await registerCloudRoutes(app, { cloud });
  await registerOtaRoutes(app, { firmware, devices });
  const box = await openSecretBox({ disk, path: join(config.dataDir, 'settings-key'), key: shared?.settingsKey });
  await registerSettingsRoutes(app, { settings: createSettingsStore({ db, box, clock }) });
  await registerSystemRoutes(app, { agent: createAgentClient(config.agent, config.agentToken), closing });
  const describe = async () => ({ version, station: await nameOf(station) });
  await registerSocketRoute(app, { hub, tokens, clock, log, describe });
  await registerDocsRoutes(app, { routes, version });
  if (config.webDir !== null) await registerWebApp(app, { directory: config.webDir });
  await extraRoutes?.(app);
  await tellSetupCode(log, setupCode, await auth.isSetupNeeded());
}

/** A backend whose broker is there is well from its first answer; one whose broker is away serves people all the same. */
async function waitForBroker(mqtt: Mqtt, clock: Clock): Promise<void> {
  const deadline = clock.monotonic() + brokerWaitMs;
  while (!mqtt.isWell() && clock.monotonic() < deadline) await clock.sleep(20);
}

async function importDevicesFile(
  { devicesFile }: BackendConfig,
  { clock, disk, log }: Host,
  db: Database,
): Promise<FileLogin[]> {
  if (devicesFile === null) return [];
  const { added, logins } = await importDevices({ db, disk, path: devicesFile, clock });
  if (added > 0) log.event('devices_imported', { count: added });
  return logins;
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

/** The agent's events for everyone at /ws, and whether the agent is heard. */
function startAgentEvents(config: BackendConfig, { clock, log, random }: Host, hub: SocketHub): AsyncDisposable {
  if (config.agent === null) return { [Symbol.asyncDispose]: async () => undefined };
  const now = (): string => isoTime(clock.now());
  const linkMessage = (connected: boolean) => ({ type: 'agent_link', at: now(), connected }) as const;
  const link = startAgentLink({
    client: createAgentClient(config.agent, config.agentToken),
    clock,
    log,
    random,
    listener: {
      onConnected: (connected) => hub.broadcast(linkMessage(connected), 'agent_link'),
      onEvent: (event) => {
        // Of the progress of a pull only the latest matters.
        const { service } = event as { service?: unknown };
        const key = event.event === 'docker_pull' ? `docker_pull ${String(service)}` : undefined;
        hub.broadcast({ type: 'agent_event', at: now(), event }, key);
      },
    },
  });
  const replaying = hub.replay(() => [linkMessage(link.isConnected())]);
  return {
    [Symbol.asyncDispose]: async () => {
      replaying[Symbol.dispose]();
      await link[Symbol.asyncDispose]();
    },
  };
}

/** Aborts when the server begins to close: streams without an end would hold it up. Answers then end their connections. */
function closingSignal(app: HttpServer): AbortSignal {
  const controller = new AbortController();
  app.addHook('preClose', async () => controller.abort());
  app.addHook('onSend', async (_request, reply) => {
    // Else the connection of the last request would stay open, and the server with it.
    if (controller.signal.aborted) void reply.header('connection', 'close');
  });
  return controller.signal;
}

async function closeInTime(app: HttpServer): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), drainMs);
  try {
    await app.close();
  } finally {
    clearTimeout(timer);
  }
}
