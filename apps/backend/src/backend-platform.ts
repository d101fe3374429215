import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Clock, isoTime, systemClock } from '@station/kit/clock';
import { closeCodes } from '@station/protocol/socket';
import { type AgentClient, createAgentClient } from './core/adapters/agent-client.ts';
import { readBoot } from './system/adapters/boot.ts';
import { readDiskSpace } from './core/adapters/disk-space.ts';
import { finishRestore } from './backup/finish-restore.ts';
import { restoreParts } from './backup/restore-parts.ts';
import { type BroadcastTap, createBroadcastTap } from './cloud/outgoing-events.ts';
import type { BackendConfig } from './config.ts';
import { createAccessTokens, type FindHolder } from './core/access-tokens.ts';
import { type BackendConditions, createBackendConditions } from './core/conditions.ts';
import { createDeviceEvents, type DeviceEvents } from './core/device-events.ts';
import type { Host } from './core/host.ts';
import { alwaysLeader } from './core/leadership.ts';
import { deriveSecrets } from './core/secrets.ts';
import type { SpaceWatch } from './core/space.ts';
import { alwaysTrusted } from './core/trusted-time.ts';
import { createDevicePlaces, type DevicePlaces } from './devices/device-places.ts';
import { startOfHour, sumUpHours } from './history/downsampling.ts';
import { keepRecentLog, type RecentLog } from './doctor/recent-log.ts';
import { findSessionHolder, readJwtSecret, refreshKeyOf } from './people/sessions.ts';
import type { Platform } from './platform/module.ts';
import type { Replicas } from './replicas/replicas-port.ts';
import { createSocketHub, type SocketHub } from './socket/hub.ts';
import { createClockStore } from './system/clock-store.ts';
import { openStore, type Store } from './store/database.ts';
import { migrations } from './store/migrations/all.ts';
import { openSecretBox, type SecretBox } from './store/secret-box.ts';
import { startSpaceWatch } from './store/space-watch.ts';
import { createStationEvents, type StationEventStore } from './store/station-event-store.ts';
import { createStationStore, ensureStation, type StationStore } from './store/station-store.ts';
import { startStorageHealth, type StorageHealth } from './store/storage-health.ts';
import { askForClock } from './system/agent-clock.ts';
import { openStationTime, type StationTime } from './system/station-time.ts';

/** The platform, and what is opened with it: for single features, and for several backends. */
export type Foundations = {
  platform: Platform;
  /** Its wall clock may be wrong. */
  machine: Pick<Clock, 'now'>;
  /** Null with several backends. */
  stationTime: StationTime | null;
  /** Whether the database can be written. */
  storage: StorageHealth;
  /** Free space of the disk that holds DATA_DIR. */
  space: SpaceWatch;
  /** Whom at /ws a message about a device concerns. */
  places: DevicePlaces;
  /** Receives every message that is broadcast at `/ws`. */
  tap: BroadcastTap;
  recentLog: RecentLog;
  refreshKey: Buffer;
  /** Random bytes from which all replicas derive the same set-up code; unset: there is one backend. */
  setupSeed: Buffer | undefined;
  settingsBox: SecretBox;
  /** Null: there is only this backend. */
  replicas: Replicas | null;
};

/** Opens the database and what depends on it. `starting` closes them in reverse order. */
export async function openPlatform(
  starting: AsyncDisposableStack,
  config: BackendConfig,
  machine: Host,
  onDamage: () => void,
): Promise<Foundations> {
  const { disk, logger } = machine;
  const { database, dataDir, jwtSecret, replicaId } = config;
  await disk.makeDirectory(dataDir, 0o700);
  if (database.kind === 'sqlite') await finishRestore({ dataDir, disk, logger });
  const opening = { config: database, replicaId, migrations, clock: machine.clock, disk, logger, onDamage };
  const store = starting.use(await openStore(opening));
  if (database.kind === 'sqlite') await restoreParts({ dataDir, db: store.db, disk, logger });
  const agent = createAgentClient(config.agent, config.agentToken);
  const tap = createBroadcastTap();
  const places = createDevicePlaces();
  const hub = tap.on(createSocketHub(systemClock, places.zoneOf));
  const replicas = await startReplicas(config, machine, store, hub);
  if (replicas !== null) starting.use(replicas);
  const stationTime = replicas === null ? starting.use(await openTime(agent, machine, store)) : null;
  const clock = replicas?.clock ?? stationTime?.clock ?? machine.clock;
  const host = { ...machine, clock };
  const secret = await readJwtSecret({ configured: jwtSecret, disk, path: join(dataDir, 'jwt-secret') });
  logger.keepSecret(secret);
  const tokens = openTokens(starting, host, hub, store, secret);
  if (replicas !== null) starting.use(await replicas.shareRevocations(tokens));
  const shared = replicas !== null && jwtSecret !== null ? deriveSecrets(jwtSecret) : null;
  const station = await openStation(config, host, store);
  const conditions = openConditions(starting, host, hub, stationTime);
  const readSpace = () => readDiskSpace(dataDir);
  const watching = { store, conditions, readSpace, clock: machine.clock, logger };
  const platform: Platform = {
    host,
    trustedTime: stationTime?.trusted ?? alwaysTrusted,
    store,
    ...station,
    tokens,
    events: openEvents(replicas, logger),
    hub,
    conditions,
    stationEvents: starting.use(openStationEvents(host, hub, store)),
    leadership: replicas?.leadership ?? alwaysLeader,
    agent,
  };
  return {
    platform,
    machine: machine.clock,
    stationTime,
    storage: starting.use(startStorageHealth(watching)),
    space: starting.use(startSpaceWatch(watching)),
    places,
    tap,
    recentLog: starting.use(keepRecentLog(logger)),
    refreshKey: refreshKeyOf(secret),
    setupSeed: shared?.setupSeed,
    settingsBox: await openSecretBox({ disk, path: join(dataDir, 'settings-key'), key: shared?.settingsKey }),
    replicas,
  };
}

function openEvents(replicas: Replicas | null, logger: Host['logger']): DeviceEvents {
  const own = createDeviceEvents(logger);
  return replicas?.share(own) ?? own;
}

/** Who loses access is disconnected. */
function openTokens(opened: AsyncDisposableStack, { clock }: Host, hub: SocketHub, { db }: Store, secret: string) {
  const findHolder: FindHolder = (sessionId) => findSessionHolder(db, sessionId);
  const tokens = createAccessTokens({ secret, clock, findHolder });
  opened.use(tokens.onRevoke((id) => hub.closeClientsOf(id, closeCodes.unauthorized, 'Log in again')));
  return tokens;
}

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

async function openTime(agent: AgentClient, { clock: machine, logger }: Host, store: Store): Promise<StationTime> {
  return openStationTime({
    machine,
    boot: await readBoot(randomUUID),
    store: createClockStore(store),
    askAgent: agent.isConfigured ? () => askForClock(agent) : null,
    sumUpAgain: async (fromMs, nowMs, signal) => {
      await sumUpHours(store, startOfHour(nowMs), signal, fromMs);
    },
    logger,
  });
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
