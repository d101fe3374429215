import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { isoTime } from '@station/kit/clock';
import { closeCodes } from '@station/protocol/socket';
import type { Automations } from './automations/automations.ts';
import type { Cloud, CloudTuning } from './cloud/cloud.ts';
import { type BroadcastTap, createBroadcastTap } from './cloud/notifications.ts';
import type { BackendConfig } from './config.ts';
import { type AccessTokens, createAccessTokens } from './core/access-tokens.ts';
import type { Commands } from './core/commands.ts';
import { type BackendConditions, createBackendConditions } from './core/conditions.ts';
import { createDeviceEvents, type DeviceEvents } from './core/device-events.ts';
import type { Host } from './core/host.ts';
import { alwaysLeader, type Leadership } from './core/leadership.ts';
import { deriveSecrets } from './core/secrets.ts';
import { type RunningDeviceTypes, startDeviceTypes } from './devices/device-types.ts';
import type { RunningStrangers } from './devices/strangers.ts';
import type { Firmware } from './firmware/firmware.ts';
import type { HttpServer } from './http/server.ts';
import type { Mqtt } from './mqtt/mqtt.ts';
import { readJwtSecret, refreshKeyOf } from './people/sessions.ts';
import type { SettingsStore } from './provisioning/settings-store.ts';
import type { WifiChanges } from './provisioning/wifi-change.ts';
import type { WifiOffers } from './provisioning/wifi-offer.ts';
import type { Replicas } from './replicas/replicas-port.ts';
import { createSocketHub, type SocketHub } from './socket/hub.ts';
import { openStore, type Store } from './store/database.ts';
import { createDeviceStore, type DeviceStore } from './store/device-store.ts';
import { migrations } from './store/migrations/all.ts';
import { openSecretBox, type SecretBox } from './store/secret-box.ts';
import { createStationStore, ensureStation, type StationStore } from './store/station-store.ts';

export type BackendHooks = {
  /** The database file is damaged: stop and start again; the start repairs it. */
  onDamage(): void;
  /** The cloud reset the station: stop and start again, unclaimed. */
  onReset(): void;
  /** The agent requested a restart: stop and start again. */
  onRestart(): void;
  cloudTuning?: CloudTuning;
  /** Used by tests only. */
  extraRoutes?: (app: HttpServer) => Promise<void>;
};

/** The features that routes call. */
export type Features = {
  mqtt: Mqtt;
  strangers: RunningStrangers;
  commands: Commands;
  firmware: Firmware;
  automations: Automations;
  cloud: Cloud | null;
  wifi: Wifi;
};

/** The networks of the station and its devices. */
type Wifi = { settings: SettingsStore; offers: WifiOffers; changes: WifiChanges };

/** What every feature uses. */
export type Foundations = {
  config: BackendConfig;
  /** With several backends, its clock follows the database's clock. */
  host: Host;
  store: Store;
  station: StationStore;
  stationId: string;
  devices: DeviceStore;
  types: RunningDeviceTypes;
  events: DeviceEvents;
  conditions: BackendConditions;
  hub: SocketHub;
  /** Receives every message that is broadcast at `/ws`. */
  tap: BroadcastTap;
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
  const opening = { config: database, replicaId, migrations, clock: machine.clock, disk, logger, onDamage };
  const store = opened.use(await openStore(opening));
  const tap = createBroadcastTap();
  const hub = tap.on(createSocketHub());
  const replicas = await startReplicas(config, machine, store, hub);
  if (replicas !== null) opened.use(replicas);
  const host = { ...machine, clock: replicas?.clock ?? machine.clock };
  const secret = await readJwtSecret({ configured: jwtSecret, disk, path: join(dataDir, 'jwt-secret') });
  logger.keepSecret(secret);
  const tokens = createAccessTokens({ secret, clock: host.clock });
  opened.use(tokens.onRevoke((userId) => hub.closeUser(userId, closeCodes.unauthorized, 'Log in again')));
  if (replicas !== null) opened.use(await replicas.shareRevocations(tokens));
  const shared = replicas !== null && jwtSecret !== null ? deriveSecrets(jwtSecret) : null;
  const station = await openStation(config, host, store);
  const events = createDeviceEvents(logger);
  const types = opened.use(await openDeviceTypes(config, host, store, hub));
  return {
    config,
    host,
    store,
    ...station,
    devices: createDeviceStore({ db: store.db, clock: host.clock }),
    types,
    events: replicas?.share(events) ?? events,
    conditions: openConditions(host, hub),
    hub,
    tap,
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
  hub: SocketHub,
): Promise<RunningDeviceTypes> =>
  startDeviceTypes({
    db,
    disk,
    folder: join(dataDir, 'device-types'),
    onChanged: () => hub.broadcast({ type: 'device_types_changed', at: isoTime(clock.now()) }, 'device_types_changed'),
    clock,
    logger,
  });

const openConditions = ({ clock, logger }: Host, hub: SocketHub): BackendConditions =>
  createBackendConditions({
    clock,
    logger,
    onChanged: () => hub.broadcast({ type: 'conditions_changed', at: isoTime(clock.now()) }, 'conditions_changed'),
  });

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
