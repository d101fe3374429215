import { join } from 'node:path';
import { isoTime } from '@station/kit/clock';
import { createAskedThread } from '../core/adapters/asked-thread.ts';
import { findThreadProgram } from '../core/adapters/thread-program.ts';
import type { Commands } from '../core/commands.ts';
import { readState } from '../core/device-state.ts';
import type { ForeignDevices } from '../core/foreign-devices-port.ts';
import { createEventIds } from '../core/event-ids.ts';
import type { ExpectedDevices } from '../core/expected-devices-port.ts';
import { serve } from '../http/serve.ts';
import { dropReasons } from '../mqtt/dropped-messages.ts';
import { type Mqtt, type MqttConfig, startMqtt } from '../mqtt/mqtt.ts';
import type { MqttSharing, TakeReports, UnregisteredDevices, WriteReports } from '../mqtt/ports.ts';
import { type Module, opened, type Platform } from '../platform/module.ts';
import { type CommandTransaction, createCommandStore, localCommandTransaction } from '../store/command-store.ts';
import { createDeviceStore, type DeviceStore } from '../store/device-store.ts';
import { completeTransitions } from '../history/device-transitions.ts';
import { createRemovedLogins } from '../store/removed-device-store.ts';
import { openReportLog } from '../history/report-log.ts';
import { type WriteAlong, writeReports } from '../history/report-store.ts';
import { startStationRuns } from './station-runs.ts';
import type { StorageHealth } from '../store/storage-health.ts';
import { openAddedDevices } from './added-devices.ts';
import { registerDeviceCommandRoutes } from './command-routes.ts';
import { createCommands } from './device-commands.ts';
import { startDeviceMessages } from './device-messages.ts';
import type { DevicePlaces } from './device-places.ts';
import { registerDeviceRoutes } from './device-routes.ts';
import { type RunningDeviceTypes, startDeviceTypes } from './device-types.ts';
import { type FileLogin, importDevices } from './devices-file.ts';
import { registerFavouriteRoutes } from './favourites.ts';
import { registerHistoryRoutes } from './history-routes.ts';
import { createHistoryStore } from '../history/history-store.ts';
import { createLargeReads, type LargeAnswer, type LargeReads } from './large-reads.ts';
import { createThreadedReads, type LargeQuestion } from './threaded-reads.ts';
import { registerUnknownDeviceRoutes } from './unknown-device-routes.ts';
import { type RunningUnregisteredDevices, startUnregisteredDevices } from './unregistered-devices.ts';
import { createZoneStore, registerZoneRoutes } from './zones.ts';

type DevicesNeeds = {
  config: DevicesConfig;
  /** Devices that are being added: the broker recognises them. */
  expected: ExpectedDevices;
  /** Devices of gateways. */
  foreign: ForeignDevices;
  /** Whom at /ws a message about a device concerns. */
  places: DevicePlaces;
  /** Hears how writes of reports end. */
  storage: StorageHealth;
  /** Null: there is only this backend. */
  sharing: DevicesSharing | null;
};

type DevicesConfig = {
  mqtt: MqttConfig;
  dataDir: string;
  /** Devices that a file presets; null: none. */
  devicesFile: string | null;
  /** Answers large reads in a thread of its own; null: the database answers beside us anyway. */
  readThreadOf: string | null;
  /** What is written with each batch of reports. */
  writeAlong: WriteAlong | undefined;
};

type DevicesSharing = MqttSharing & {
  writeReports(reports: Parameters<WriteReports>[0], ...more: WritesWith): ReturnType<WriteReports>;
  commandTransaction: CommandTransaction;
  /** All listeners are ready. @param also further reloads after a gap. */
  begin(also: readonly (() => Promise<void>)[]): void;
};
type WritesWith = [newId: () => string, writeAlong: WriteAlong | undefined];

export type DevicesDoor = {
  mqtt: Mqtt;
  commands: Commands;
  devices: DeviceStore;
  types: RunningDeviceTypes;
  hasZone(id: string): Promise<boolean>;
};

/** What it is opened with. */
type Parts = DevicesNeeds & {
  platform: Platform;
  devices: DeviceStore;
  types: RunningDeviceTypes;
  reports: Reports;
};

/** How reports get to the disk. */
type Reports = { write: WriteReports; take?: TakeReports };

/** How long the start waits for a broker that does not answer. */
const brokerWaitMs = 2_000;
/** A thread needs some megabytes. People who look around ask again within a minute. */
const idleMs = 60_000;

/** Devices, the link to their broker, and what they are told. */
export const devicesModule: Module<DevicesNeeds, DevicesDoor> = {
  open: async (platform, needs) => {
    const { config, places: allPlaces, sharing } = needs;
    const { host, store, hub, events } = platform;
    const { clock, logger } = host;
    await using opening = new AsyncDisposableStack();
    const devices = createDeviceStore({ db: store.db, logged: store.logged, clock });
    const types = opening.use(await openDeviceTypes(platform, config));
    if (sharing !== null) opening.use(sharing.onGap(types.reload));
    const reports = await openReports(platform, needs);
    // A release that knows no log reads the tables alone.
    opening.defer(() => store.logged.settle().catch((error: unknown) => logger.failed('settling reports', error)));
    const parts: Parts = { ...needs, platform, devices, types, reports };
    // Before what publishes each report of a device at /ws.
    const places = opening.use(await allPlaces.start({ hub, events, devices, clock, logger }));
    const messages = opening.use(await startDeviceMessages({ hub, events, devices, clock }));
    const logins = await importDevicesFile(platform, config);
    // The last known time of the previous run is still on disk.
    await completeTransitions(store).catch((error: unknown) =>
      // A station whose disk is full must start; the next start tries again.
      logger.failed('completing the history', error),
    );
    opening.use(await startStationRuns({ db: store.db, clock, logger }));
    const unregistered = await openUnregisteredDevices(opening, parts);
    const mqtt = opening.use(await startBrokerLink(parts, logins, unregistered));
    const commands = opening.use(startCommands(parts, mqtt));
    await commands.load();
    const reads = openReads(opening, parts);
    const zones = createZoneStore({ db: store.db, clock });
    return opened(
      opening.move(),
      { mqtt, commands, devices, types, hasZone: zones.has },
      {
        serve: async ({ app, metrics }) => {
          metrics.counter({
            name: 'station_mqtt_dropped_messages_total',
            help: 'Messages of devices that were dropped.',
            labels: ['reason'],
            read: () => dropReasons.map((reason) => ({ labels: { reason }, value: mqtt.dropped.count(reason) })),
          });
          const { stationEvents } = platform;
          const history = createHistoryStore({ store, clock });
          const publish = mqtt.publishCommand;
          serve(app, 'GET /api/agent/devices', () => Promise.resolve({ heard: mqtt.heard() }));
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
          await registerFavouriteRoutes(app, { db: store.db, devices });
        },
        begin: async () => {
          // Health is ready from the first answer. A backend without its broker still serves people.
          await mqtt.isReadyWithin(brokerWaitMs);
          sharing?.begin([places.reload, messages.reload, commands.load]);
        },
      },
    );
  },
};

/** @param onRemoved the zone is gone, and who was limited to it sees less. */
export const zonesModule: Module<{ onRemoved: () => Promise<void> }, null> = {
  open: async ({ host: { clock }, store: { db }, hub, tokens }, { onRemoved }) =>
    opened(null, null, {
      serve: ({ app }) =>
        registerZoneRoutes(app, {
          zones: createZoneStore({ db, clock }),
          hub,
          clock,
          onRemoved: async (limited) => {
            for (const userId of limited) tokens.revoke(userId);
            await onRemoved();
          },
        }),
    }),
};

function openDeviceTypes(
  { host, store, hub, events }: Platform,
  { dataDir }: DevicesConfig,
): Promise<RunningDeviceTypes> {
  const { clock, disk, logger } = host;
  return startDeviceTypes({
    db: store.db,
    events,
    disk,
    folder: join(dataDir, 'device-types'),
    onChanged: () => hub.broadcast({ type: 'device_types_changed', at: isoTime(clock.now()) }, 'device_types_changed'),
    clock,
    logger,
  });
}

async function importDevicesFile(
  { host, store }: Platform,
  { devicesFile: path }: DevicesConfig,
): Promise<FileLogin[]> {
  const { clock, disk, logger } = host;
  if (path === null) return [];
  const { added, logins } = await importDevices({ db: store.db, disk, path, clock });
  if (added > 0) logger.event('devices_imported', { count: added });
  return logins;
}

async function openUnregisteredDevices(
  opening: AsyncDisposableStack,
  { config, platform, devices, expected }: Parts,
): Promise<RunningUnregisteredDevices> {
  const { host, store, conditions, events, stationEvents, trustedTime } = platform;
  const { clock, disk, logger } = host;
  const path = join(config.dataDir, 'added-devices.json');
  const { wasAddedAgain } = opening.use(await openAddedDevices({ disk, path, devices, events, logger }));
  return opening.use(
    startUnregisteredDevices({
      db: store.db,
      devices,
      expected,
      wasAddedAgain,
      conditions,
      events,
      stationEvents,
      trustedTime,
      clock,
      logger,
    }),
  );
}

/** Several backends, and a server, write every report at once: the log is for one file on a card. */
async function openReports(
  { host, store, trustedTime }: Platform,
  { config, sharing }: DevicesNeeds,
): Promise<Reports> {
  const { clock, logger } = host;
  const newId = createEventIds(() => clock.now());
  const { writeAlong } = config;
  if (sharing !== null) return { write: (reports) => sharing.writeReports(reports, newId, writeAlong) };
  if (store.kind === 'sqlite') return openReportLog({ store, trustedTime, newId, writeAlong, clock, logger });
  return { write: (reports) => writeReports(store, reports, newId, writeAlong) };
}

async function startBrokerLink(
  { config, platform, storage, devices, types, expected, foreign, sharing, reports }: Parts,
  logins: readonly FileLogin[],
  unregistered: UnregisteredDevices,
): Promise<Mqtt> {
  const { host, store, stationId, conditions, events } = platform;
  const { clock, disk, logger } = host;
  return startMqtt({
    config: config.mqtt,
    stationId,
    sharing,
    logins,
    devices,
    types,
    removedLogins: createRemovedLogins(store.db),
    unregistered,
    expected,
    foreign,
    conditions,
    writeReports: reports.write,
    takeReports: reports.take,
    storage,
    events,
    clock,
    disk,
    logger,
  });
}

function startCommands({ platform, devices, types, foreign, sharing }: Parts, mqtt: Mqtt): Commands {
  const { host, store, stationId, events } = platform;
  const { clock, logger } = host;
  const { db } = store;
  return createCommands({
    stationId,
    findDevice: async (id) => {
      const device = await devices.findById(id);
      if (device === null) return null;
      const { external_id: externalId, type, state } = device;
      return { id, externalId, type, state: readState(state), isForeign: foreign.isForeign(externalId) };
    },
    types,
    publish: mqtt.publishCommand,
    store: createCommandStore({ db, transact: sharing?.commandTransaction ?? localCommandTransaction(db, events) }),
    events,
    clock,
    logger,
  });
}

/** In a thread, whose connection reads what is committed; or here. */
function openReads(opening: AsyncDisposableStack, { config, platform }: Parts): LargeReads {
  const { store, host } = platform;
  const { clock, logger } = host;
  const reads = createLargeReads({ store, clock });
  const { readThreadOf: data } = config;
  if (data === null) return reads;
  const source = new URL('../large-reads-thread.ts', import.meta.url);
  const { logged } = store;
  const program = (): string => findThreadProgram('station-large-reads.mjs', source);
  const thread = opening.use(createAskedThread<LargeQuestion, LargeAnswer>({ program, data, idleMs }));
  return createThreadedReads({ thread, reads, logged, clock, logger });
}
