import { join } from 'node:path';
import type { BackendConfig } from './config.ts';
import { openReads } from './backend-reads.ts';
import type { Foundations } from './backend-platform.ts';
import { cloudWriteAlong } from './cloud/start-cloud.ts';
import type { Commands } from './core/commands.ts';
import { readState } from './core/device-state.ts';
import { createEventIds } from './core/event-ids.ts';
import { openAddedDevices } from './devices/added-devices.ts';
import { registerDeviceCommandRoutes } from './devices/command-routes.ts';
import { createCommands } from './devices/commands.ts';
import { startDeviceMessages } from './devices/device-messages.ts';
import { registerDeviceRoutes } from './devices/device-routes.ts';
import { type FileLogin, importDevices } from './devices/devices-file.ts';
import { registerFavouriteRoutes } from './devices/favourites.ts';
import { registerHistoryRoutes } from './devices/history-routes.ts';
import { createHistoryStore } from './devices/history-store.ts';
import { createLargeReads } from './devices/large-reads.ts';
import { registerUnknownDeviceRoutes } from './devices/unknown-device-routes.ts';
import { type RunningUnregisteredDevices, startUnregisteredDevices } from './devices/unregistered-devices.ts';
import { createZoneStore, registerZoneRoutes } from './devices/zones.ts';
import { dropReasons } from './mqtt/dropped-messages.ts';
import { type Mqtt, startMqtt } from './mqtt/mqtt.ts';
import type { UnregisteredDevices, WriteReports } from './mqtt/ports.ts';
import { type Opened, opened, type Platform } from './platform/module.ts';
import type { Expected } from './provisioning/expected-devices.ts';
import { createCommandStore, localCommandTransaction } from './store/command-store.ts';
import { completeTransitions } from './store/device-transitions.ts';
import { createRemovedLogins } from './store/removed-device-store.ts';
import { writeReports } from './store/report-store.ts';
import { startStationRuns } from './store/station-runs.ts';

type DevicesNeeds = {
  config: BackendConfig;
  foundations: Foundations;
  /** Devices that are being added: the broker recognises them. */
  expected: Expected;
  hasReadThread: boolean;
};

type DevicesDoor = { mqtt: Mqtt; commands: Commands };

/** How long the start waits for a broker that does not answer. */
const brokerWaitMs = 2_000;

/** Devices, the link to their broker, and what they are told. */
export async function openDevices(needs: DevicesNeeds): Promise<Opened<DevicesDoor>> {
  const { config, foundations } = needs;
  const { platform, devices, types, replicas } = foundations;
  const { host, store, hub, events } = platform;
  const { clock, logger } = host;
  await using opening = new AsyncDisposableStack();
  // Before what publishes each report of a device at /ws.
  const places = opening.use(await foundations.places.start({ hub, events, devices, clock, logger }));
  const messages = opening.use(await startDeviceMessages({ hub, events, devices, clock }));
  const logins = await importDevicesFile(config, foundations);
  // The last known time of the previous run is still on disk.
  await completeTransitions(store).catch((error: unknown) =>
    // A station whose disk is full must start; the next start tries again.
    logger.failed('completing the history', error),
  );
  opening.use(await startStationRuns({ db: store.db, clock, logger }));
  const unregistered = await openUnregisteredDevices(opening, needs);
  const mqtt = opening.use(await startBrokerLink(needs, logins, unregistered));
  const commands = opening.use(startCommands(foundations, mqtt));
  await commands.load();
  const reads = needs.hasReadThread ? openReads(opening, config, platform) : createLargeReads({ store, clock });
  return opened(
    opening.move(),
    { mqtt, commands },
    {
      serve: async ({ app, metrics }) => {
        metrics.counter({
          name: 'station_mqtt_dropped_messages_total',
          help: 'Messages of devices that were dropped.',
          labels: ['reason'],
          read: () => dropReasons.map((reason) => ({ labels: { reason }, value: mqtt.dropped.count(reason) })),
        });
        const { stationEvents } = platform;
        const zones = createZoneStore({ db: store.db, clock });
        const history = createHistoryStore({ store, clock });
        const publish = mqtt.publishCommand;
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
        replicas?.begin([places.reload, messages.reload, commands.load]);
      },
    },
  );
}

/** @param onRemoved the zone is gone, and who was limited to it sees less. */
export function openZones({ host: { clock }, store: { db }, hub, tokens }: Platform, onRemoved: () => Promise<void>) {
  const zones = createZoneStore({ db, clock });
  return opened(null, null, {
    serve: ({ app }) =>
      registerZoneRoutes(app, {
        zones,
        hub,
        clock,
        onRemoved: async (limited) => {
          for (const userId of limited) tokens.revoke(userId);
          await onRemoved();
        },
      }),
  });
}

async function importDevicesFile(
  { devicesFile: path }: BackendConfig,
  { platform: { host, store } }: Foundations,
): Promise<FileLogin[]> {
  const { clock, disk, logger } = host;
  if (path === null) return [];
  const { added, logins } = await importDevices({ db: store.db, disk, path, clock });
  if (added > 0) logger.event('devices_imported', { count: added });
  return logins;
}

async function openUnregisteredDevices(
  opening: AsyncDisposableStack,
  { config, foundations: { platform, devices }, expected }: DevicesNeeds,
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

async function startBrokerLink(
  { config, foundations, expected }: DevicesNeeds,
  logins: readonly FileLogin[],
  unregistered: UnregisteredDevices,
): Promise<Mqtt> {
  const { platform, storage, devices, types, replicas } = foundations;
  const { host, store, stationId, conditions, events } = platform;
  const { clock, disk, logger } = host;
  const newId = createEventIds(() => clock.now());
  const writeAlong = cloudWriteAlong(config.cloud);
  const write: WriteReports = (reports) =>
    replicas?.writeReports(reports, newId, writeAlong) ?? writeReports(store, reports, newId, writeAlong);
  return startMqtt({
    config: config.mqtt,
    stationId,
    sharing: replicas,
    logins,
    devices,
    types,
    removedLogins: createRemovedLogins(store.db),
    unregistered,
    expected,
    conditions,
    writeReports: write,
    storage,
    events,
    clock,
    disk,
    logger,
  });
}

function startCommands({ platform, devices, types, replicas }: Foundations, mqtt: Mqtt): Commands {
  const { host, store, stationId, events } = platform;
  const { clock, logger } = host;
  const { db } = store;
  return createCommands({
    stationId,
    findDevice: async (id) => {
      const device = await devices.findById(id);
      return device && { id, externalId: device.external_id, type: device.type, state: readState(device.state) };
    },
    types,
    publish: mqtt.publishCommand,
    store: createCommandStore({ db, transact: replicas?.commandTransaction ?? localCommandTransaction(db, events) }),
    events,
    clock,
    logger,
  });
}
