import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { closeCodes } from '@station/protocol/socket';
import { createAccessTokens, type AccessTokens } from './core/access-tokens.ts';
import { readJwtSecret } from './people/jwt-secret.ts';
import { refreshKeyOf } from './people/sessions.ts';
import { createAutomations, type Automations } from './automations/automations.ts';
import { createBroadcastTap, type BroadcastTap } from './cloud/notifications.ts';
import type { Cloud, CloudTuning } from './cloud/cloud.ts';
import { cloudWriteAlong, startCloudOf } from './cloud/start-cloud.ts';
import type { BackendConfig } from './config.ts';
import { createCommandStore, tellHere } from './store/command-store.ts';
import { createCommands } from './devices/commands.ts';
import { createDeviceEvents, type DeviceEvents } from './core/device-events.ts';
import { createEventIds } from './core/event-ids.ts';
import type { WriteReports } from './mqtt/ports.ts';
import { writeReports } from './store/report-store.ts';
import { createDeviceStore, createRemovedLogins, type DeviceStore } from './store/device-store.ts';
import { importDevices, type FileLogin } from './devices/devices-file.ts';
import { createHistoryStore } from './devices/history-store.ts';
import { startHousekeeping } from './devices/housekeeping.ts';
import { startFirmware, type Firmware } from './firmware/firmware.ts';
import type { Host } from './core/host.ts';
import { startMqtt, type Mqtt } from './mqtt/mqtt.ts';
import { alwaysLeader, type Leadership } from './core/leadership.ts';
import type { Replicas } from './replicas/replicas.ts';
import { startSharing } from './replicas/start-sharing.ts';
import { startDeviceMessages } from './devices/device-messages.ts';
import { createSocketHub, type SocketHub } from './socket/hub.ts';
import { createStationStore, ensureStation } from './store/station-store.ts';
import { openStore, type Store } from './store/database.ts';
import { migrations } from './store/migrations/all.ts';
import type { Database } from './store/schema.ts';
import { startAgentEvents } from './system/agent-events.ts';
import type { Commands } from './core/commands.ts';

/** What everything stands on. */
export type Ground = {
  config: BackendConfig;
  /** With several backends its clock is the database's. */
  host: Host;
  store: Store;
  hub: SocketHub;
  tap: BroadcastTap;
  tokens: AccessTokens;
  refreshKey: Buffer;
  /** Null: this backend is the only one. */
  replicas: Replicas | null;
  leadership: Leadership;
};

/** What the routes lead to. */
export type Rooms = Ground & {
  events: DeviceEvents;
  devices: DeviceStore;
  mqtt: Mqtt;
  commands: Commands;
  firmware: Firmware;
  automations: Automations;
  cloud: Cloud | null;
  /** Looks at what happened while they were being built, and begins with what runs by itself. */
  begin(): Promise<void>;
};

export type RoomHooks = {
  /** The database file proved damaged: stop and start again, and it is mended. */
  onDamage(): void;
  /** The cloud reset the station: stop and start again, unclaimed. */
  onReset(): void;
  /** The agent asked for it: stop and start again. */
  onRestart(): void;
  cloudTuning?: CloudTuning;
};

/** How long the start waits for a broker that does not answer. */
const brokerWaitMs = 2_000;

/** Builds the rooms over one another and leaves closing them to `opened`, which closes in reverse order. */
export async function openRooms(
  opened: AsyncDisposableStack,
  config: BackendConfig,
  machine: Host,
  hooks: RoomHooks,
): Promise<Rooms> {
  const ground = await openGround(opened, config, machine, hooks);
  const devicesRoom = await openDevices(opened, ground);
  const { host, store, hub, leadership, replicas } = ground;
  const { devices, events, commands, mqtt, told } = devicesRoom;
  const { clock, logger } = host;
  const { isLeader } = leadership;
  const firmware = opened.use(
    startFirmware({ config: config.firmware, db: store.db, hub, events, commands, isLeader, clock, logger }),
  );
  const cloud = await openCloud(opened, ground, devicesRoom, hooks);
  const automations = opened.use(
    createAutomations({
      store,
      devices,
      commands,
      events,
      broker: { isWell: mqtt.isWell, isEmbedded: config.mqtt.kind === 'embedded' },
      timeZone: async () => (await createStationStore(store.db).read()).time_zone,
      leadership,
      isShared: replicas !== null,
      webhookAllow: config.webhookAllow,
      clock,
      logger,
    }),
  );
  opened.use(startAgentEvents(config, host, hub));
  const history = createHistoryStore({ store, clock });
  opened.use(startHousekeeping({ history, also: [automations.thinOut], leadership, clock, logger }));
  const begin = async (): Promise<void> => {
    // Well from the first answer; one whose broker is away serves people all the same.
    await mqtt.isWellWithin(brokerWaitMs);
    replicas?.begin([told.reload, commands.load]);
    await automations.begin();
  };
  return { ...ground, devices, events, mqtt, commands, firmware, automations, cloud, begin };
}

async function openGround(
  opened: AsyncDisposableStack,
  config: BackendConfig,
  machine: Host,
  { onDamage }: RoomHooks,
): Promise<Ground> {
  const { disk, logger } = machine;
  await disk.makeDirectory(config.dataDir, 0o700);
  const { database, replicaId } = config;
  const opening = { config: database, replicaId, migrations, clock: machine.clock, disk, logger, onDamage };
  const store = opened.use(await openStore(opening));
  const tap = createBroadcastTap();
  const hub = tap.on(createSocketHub());
  const replicas = await startSharing(config, machine, store.db, hub);
  if (replicas !== null) opened.use(replicas);
  const clock = replicas?.clock ?? machine.clock;
  const { stationId } = config;
  await ensureStation(store.db, { stationId, generateId: randomUUID, timeZone: machine.timeZone, clock });
  const secret = await readJwtSecret({ configured: config.jwtSecret, disk, path: join(config.dataDir, 'jwt-secret') });
  logger.keepSecret(secret);
  const tokens = createAccessTokens({ secret, clock });
  opened.use(tokens.onRevoke((userId) => hub.closeUser(userId, closeCodes.unauthorized, 'BackendLogger in again')));
  if (replicas !== null) opened.use(await replicas.shareRevocations(tokens));
  const { leadership = alwaysLeader } = replicas ?? {};
  const refreshKey = refreshKeyOf(secret);
  return { config, host: { ...machine, clock }, store, hub, tap, tokens, refreshKey, replicas, leadership };
}

type DevicesRoom = Pick<Rooms, 'devices' | 'events' | 'mqtt' | 'commands'> & {
  stationId: string;
  told: Awaited<ReturnType<typeof startDeviceMessages>>;
};

async function openDevices(opened: AsyncDisposableStack, ground: Ground): Promise<DevicesRoom> {
  const { config, host, store, hub, replicas } = ground;
  const { clock, disk, logger } = host;
  const { db } = store;
  const local = createDeviceEvents(logger);
  const events = replicas?.share(local) ?? local;
  const devices = createDeviceStore({ db, clock });
  const told = opened.use(await startDeviceMessages({ hub, events, devices, clock }));
  const logins = await importDevicesFile(config, host, db);
  const { station_id: stationId } = await createStationStore(db).read();
  const writeAlong = cloudWriteAlong(config);
  const newId = createEventIds(() => clock.now());
  const write: WriteReports = (reports) =>
    replicas?.writeReports(reports, newId, writeAlong) ?? writeReports(store, reports, newId, writeAlong);
  const parts = { config: config.mqtt, stationId, sharing: replicas, logins, devices, events, writeReports: write };
  const mqtt = opened.use(await startMqtt({ ...parts, removedLogins: createRemovedLogins(db), clock, disk, logger }));
  const commands = opened.use(
    createCommands({
      findDevice: async (id) => {
        const device = await devices.findById(id);
        return device && { id, externalId: device.external_id, type: device.type };
      },
      publish: mqtt.publishCommand,
      store: createCommandStore({ db, tell: replicas?.tellCommands ?? tellHere(db, events) }),
      events,
      clock,
      logger,
    }),
  );
  await commands.load();
  return { devices, events, mqtt, commands, stationId, told };
}

async function openCloud(
  opened: AsyncDisposableStack,
  { config, host, store, hub, tap, tokens, leadership, replicas: others }: Ground,
  { stationId, devices, events, commands, mqtt }: DevicesRoom,
  { onReset, cloudTuning: tuning = {} }: RoomHooks,
): Promise<Cloud | null> {
  const { publishCommand: publish } = mqtt;
  const facts = { stationId, store, devices, commands, publish, events, hub, tap, tokens };
  const cloud = await startCloudOf(config, { ...host, ...facts, leadership, others, onReset, tuning });
  return cloud === null ? null : opened.use(cloud);
}

async function importDevicesFile(
  { devicesFile }: BackendConfig,
  { clock, disk, logger }: Host,
  db: Database,
): Promise<FileLogin[]> {
  if (devicesFile === null) return [];
  const { added, logins } = await importDevices({ db, disk, path: devicesFile, clock });
  if (added > 0) logger.event('devices_imported', { count: added });
  return logins;
}
