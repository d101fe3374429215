import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Clock, isoTime, systemClock } from '@station/kit/clock';
import { closeCodes } from '@station/protocol/socket';
import { readDiskSpace } from './adapters/disk-space.ts';
import type { Automations } from './automations/automations.ts';
import type { BackupEngine } from './backup/backup-engine.ts';
import type { Storage } from './core/backup-destination.ts';
import type { RunJob } from './backup/attempt-job.ts';
import type { BackupKeeper } from './backup/backup-keeper.ts';
import { finishRestore } from './backup/finish-restore.ts';
import { restoreParts } from './backup/restore-parts.ts';
import type { Cloud, CloudTuning } from './cloud/cloud.ts';
import { type BroadcastTap, createBroadcastTap } from './cloud/notifications.ts';
import { createAgentClient } from './adapters/agent-client.ts';
import { readBoot } from './adapters/boot.ts';
import type { BackendConfig } from './config.ts';
import { type AccessTokens, createAccessTokens, type FindHolder } from './core/access-tokens.ts';
import type { Commands } from './core/commands.ts';
import { type BackendConditions, createBackendConditions } from './core/conditions.ts';
import { createDeviceEvents, type DeviceEvents } from './core/device-events.ts';
import type { Host } from './core/host.ts';
import { alwaysLeader, type Leadership } from './core/leadership.ts';
import { alwaysTrusted, type TrustedTime } from './core/trusted-time.ts';
import { deriveSecrets } from './core/secrets.ts';
import type { SpaceWatch } from './core/space.ts';
import type { StationEvents } from './core/station-events.ts';
import { startOfHour, sumUpHours } from './devices/downsampling.ts';
import { createDevicePlaces, type DevicePlaces } from './devices/device-places.ts';
import type { LargeReads } from './devices/large-reads.ts';
import { type RunningDeviceTypes, startDeviceTypes } from './devices/device-types.ts';
import type { RunningUnregisteredDevices } from './devices/unregistered-devices.ts';
import { keepRecentLog, type RecentLog } from './doctor/recent-log.ts';
import type { Firmware } from './firmware/firmware.ts';
import type { HttpServer } from './http/server.ts';
import type { Mqtt } from './mqtt/mqtt.ts';
import type { Notifications } from './notifications/notifications.ts';
import { findSessionHolder, readJwtSecret, refreshKeyOf } from './people/sessions.ts';
import type { Radio } from './provisioning/radio.ts';
import type { SettingsStore } from './provisioning/settings-store.ts';
import type { Provisioning } from './provisioning/provisioning.ts';
import type { WifiChanges } from './provisioning/wifi-change.ts';
import type { WifiOffers } from './provisioning/wifi-offer.ts';
import type { CheckWifiPassword } from './provisioning/wifi-password.ts';
import type { Replicas } from './replicas/replicas-port.ts';
import { createSocketHub, type SocketHub } from './socket/hub.ts';
import type { StorageKeeper } from './storage/storage-keeper.ts';
import { openStore, type Store } from './store/database.ts';
import { createClockStore } from './store/clock-store.ts';
import { createDeviceStore, type DeviceStore } from './store/device-store.ts';
import { migrations } from './store/migrations/all.ts';
import { openSecretBox, type SecretBox } from './store/secret-box.ts';
import { startSpaceWatch } from './store/space-watch.ts';
import { createStationEvents, type StationEventStore } from './store/station-event-store.ts';
import { createStationStore, ensureStation, type StationStore } from './store/station-store.ts';
import { startStorageHealth, type StorageHealth } from './store/storage-health.ts';
import { askForClock } from './system/agent-clock.ts';
import { openStationTime, type StationTime } from './system/station-time.ts';

export type BackendHooks = {
  /** The database file is damaged: stop and start again; the start repairs it. */
  onDamage(): void;
  /** The cloud reset the station: stop and start again, unclaimed. */
  onReset(): void;
  /** The agent requested a restart: stop and start again. */
  onRestart(): void;
  cloudTuning?: CloudTuning;
  /** Answers large reads in a thread of its own, on SQLite. */
  hasReadThread?: boolean;
  /** Used by tests only, instead of Bluetooth. */
  radio?: Radio;
  /** Used by tests only, instead of a process at the lowest priority, which a busy machine lets wait for minutes. */
  runBackupJob?: RunJob;
  /** Storage of backups that others may control; absent: in processes of their own. */
  storage?: Storage;
  /** Used by tests only. */
  extraRoutes?: (app: HttpServer) => Promise<void>;
};

/** The features that routes call. */
export type Features = {
  mqtt: Mqtt;
  unregistered: RunningUnregisteredDevices;
  commands: Commands;
  firmware: Firmware;
  automations: Automations;
  cloud: Cloud | null;
  wifi: Wifi;
  provisioning: Provisioning;
  backups: BackupEngine;
  keeper: StorageKeeper;
  backupKeeper: BackupKeeper;
  notifications: Notifications;
  reads: LargeReads;
};

/** The networks of the station and its devices. */
type Wifi = {
  settings: SettingsStore;
  offers: WifiOffers;
  changes: WifiChanges;
  checkPassword: CheckWifiPassword;
};

/** What every feature uses. */
export type Foundations = {
  config: BackendConfig;
  /** Its clock is the station's time; with several backends, that of the database. */
  host: Host;
  /** Its wall clock may be wrong. */
  machine: Pick<Clock, 'now'>;
  trustedTime: TrustedTime;
  /** Null with several backends. */
  stationTime: StationTime | null;
  store: Store;
  station: StationStore;
  stationId: string;
  devices: DeviceStore;
  types: RunningDeviceTypes;
  events: DeviceEvents;
  conditions: BackendConditions;
  stationEvents: StationEvents;
  /** Whether the database can be written. */
  storage: StorageHealth;
  /** Free space of the disk that holds DATA_DIR. */
  space: SpaceWatch;
  hub: SocketHub;
  /** Whom at /ws a message about a device concerns. */
  places: DevicePlaces;
  /** Receives every message that is broadcast at `/ws`. */
  tap: BroadcastTap;
  recentLog: RecentLog;
  tokens: AccessTokens;
  refreshKey: Buffer;
  /** Random bytes from which all replicas derive the same set-up code; unset: there is one backend. */
  setupSeed: Buffer | undefined;
  settingsBox: SecretBox;
  /** Null: there is only this backend. */
  replicas: Replicas | null;
  leadership: Leadership;
};

/** Opens the database and what depends on it. `opened` closes them in reverse order. */
export async function openFoundations(
  opened: AsyncDisposableStack,
  config: BackendConfig,
  machine: Host,
  onDamage: () => void,
): Promise<Foundations> {
  const { disk, logger } = machine;
  const { database, dataDir, jwtSecret, replicaId } = config;
  await disk.makeDirectory(dataDir, 0o700);
  if (database.kind === 'sqlite') await finishRestore({ dataDir, disk, logger });
  const opening = { config: database, replicaId, migrations, clock: machine.clock, disk, logger, onDamage };
  const store = opened.use(await openStore(opening));
  if (database.kind === 'sqlite') await restoreParts({ dataDir, db: store.db, disk, logger });
  const tap = createBroadcastTap();
  const places = createDevicePlaces();
  const hub = tap.on(createSocketHub(systemClock, places.zoneOf));
  const replicas = await startReplicas(config, machine, store, hub);
  if (replicas !== null) opened.use(replicas);
  const stationTime = replicas === null ? opened.use(await openTime(config, machine, store)) : null;
  const clock = replicas?.clock ?? stationTime?.clock ?? machine.clock;
  const host = { ...machine, clock };
  const secret = await readJwtSecret({ configured: jwtSecret, disk, path: join(dataDir, 'jwt-secret') });
  logger.keepSecret(secret);
  const findHolder: FindHolder = (sessionId) => findSessionHolder(store.db, sessionId);
  const tokens = createAccessTokens({ secret, clock: host.clock, findHolder });
  opened.use(tokens.onRevoke((id) => hub.closeClientsOf(id, closeCodes.unauthorized, 'Log in again')));
  if (replicas !== null) opened.use(await replicas.shareRevocations(tokens));
  const shared = replicas !== null && jwtSecret !== null ? deriveSecrets(jwtSecret) : null;
  const station = await openStation(config, host, store);
  const own = createDeviceEvents(logger);
  const events = replicas?.share(own) ?? own;
  const types = opened.use(await openDeviceTypes(config, host, store, { hub, events }));
  if (replicas !== null) opened.use(replicas.onGap(types.reload));
  const conditions = openConditions(opened, host, hub, stationTime);
  const readSpace = () => readDiskSpace(dataDir);
  const watching = { store, conditions, readSpace, clock: machine.clock, logger };
  return {
    config,
    host,
    store,
    ...station,
    devices: createDeviceStore({ db: store.db, clock: host.clock }),
    types,
    events,
    conditions,
    stationEvents: opened.use(openStationEvents(host, hub, store)),
    storage: opened.use(startStorageHealth(watching)),
    space: opened.use(startSpaceWatch(watching)),
    machine: machine.clock,
    trustedTime: stationTime?.trusted ?? alwaysTrusted,
    stationTime,
    hub,
    places,
    tap,
    recentLog: opened.use(keepRecentLog(logger)),
    tokens,
    refreshKey: refreshKeyOf(secret),
    setupSeed: shared?.setupSeed,
    settingsBox: await openSecretBox({ disk, path: join(dataDir, 'settings-key'), key: shared?.settingsKey }),
    replicas,
    leadership: replicas?.leadership ?? alwaysLeader,
  };
}

const openDeviceTypes = (
  { dataDir }: BackendConfig,
  { clock, disk, logger }: Host,
  { db }: Store,
  { hub, events }: { hub: SocketHub; events: DeviceEvents },
): Promise<RunningDeviceTypes> =>
  startDeviceTypes({
    db,
    events,
    disk,
    folder: join(dataDir, 'device-types'),
    onChanged: () => hub.broadcast({ type: 'device_types_changed', at: isoTime(clock.now()) }, 'device_types_changed'),
    clock,
    logger,
  });

function openStationEvents({ clock, logger }: Host, hub: SocketHub, { db }: Store): StationEventStore {
  const onNoted = (): void => hub.broadcast({ type: 'activity_changed', at: isoTime(clock.now()) }, 'activity_changed');
  return createStationEvents({ db, onNoted, clock, logger });
}

function openConditions(
  opened: AsyncDisposableStack,
  { clock, logger }: Host,
  hub: SocketHub,
  stationTime: StationTime | null,
): BackendConditions {
  const onChanged = (): void =>
    hub.broadcast({ type: 'conditions_changed', at: isoTime(clock.now()) }, 'conditions_changed');
  const conditions = createBackendConditions({ clock, logger, onChanged });
  const judgeClock = (): void => conditions.set('clock_untrusted', stationTime?.isDoubtful() ?? false);
  if (stationTime !== null) opened.use(stationTime.onChange(judgeClock));
  judgeClock();
  return conditions;
}

async function openTime(config: BackendConfig, { clock: machine, logger }: Host, store: Store): Promise<StationTime> {
  const agent = config.agent && createAgentClient(config.agent, config.agentToken);
  const time = await openStationTime({
    machine,
    boot: await readBoot(randomUUID),
    store: createClockStore(store),
    askAgent: agent && (() => askForClock(agent)),
    sumUpAgain: async (fromMs, signal) => {
      const now = time.clock.now();
      await sumUpHours(store, startOfHour(now), signal, fromMs);
    },
    logger,
  });
  return time;
}

/** Null for a single backend: it does not load the code of the replicas. */
async function startReplicas(
  { replicaId: id, database }: BackendConfig,
  { clock, logger }: Host,
  { db }: Store,
  hub: SocketHub,
): Promise<Replicas | null> {
  if (id === null || database.kind !== 'postgres') return null;
  const replicas = await import('./replicas/replicas.ts');
  return replicas.startReplicas({ id, db, url: database.url, hub, clock, logger });
}

async function openStation(
  { stationId: configured }: BackendConfig,
  { clock, timeZone }: Host,
  { db }: Store,
): Promise<{ station: StationStore; stationId: string }> {
  await ensureStation(db, { stationId: configured, generateId: randomUUID, timeZone, clock });
  const station = createStationStore(db);
  return { station, stationId: (await station.read()).station_id };
}
