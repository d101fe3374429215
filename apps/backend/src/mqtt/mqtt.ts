import type { Clock } from '@station/kit/clock';
import type { Disk } from '@station/kit/files';
import { describeError } from '@station/kit/station-error';
import { deviceTopic } from '@station/protocol/topics';
import type { MqttConfig } from '../config.ts';
import type { DeviceEvents, DeviceReport, StatesBefore } from '../core/device-events.ts';
import { createEventIds } from '../core/event-ids.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { PublishCommand } from '../devices/commands.ts';
import type { Replicas } from '../replicas/replicas.ts';
import type { Store } from '../store/database.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { type WriteAlong, writeReports } from '../store/report-store.ts';
import { type AvailabilityKeeper, createAvailabilityKeeper } from './availability-keeper.ts';
import { type Bridge, createBridge } from './bridge.ts';
import { readBrokerAuthority } from './broker-authority.ts';
import { type BrokerLink, type BrokerLinkHandler, isWellWithin } from './broker-link.ts';
import { type BrokerLogins, startBrokerLogins } from './broker-logins.ts';
import { createDeviceDirectory } from './device-directory.ts';
import { createDroppedMessages, type DroppedMessages } from './dropped-messages.ts';
import type { DeviceLogin } from './dynsec.ts';
import { createRefusedLogins } from './refused-logins.ts';
import { createRemovedLogins } from './removed-logins.ts';
import { createReportWriter } from './report-writer.ts';

export type Mqtt = AsyncDisposable & {
  publishCommand: PublishCommand;
  /**
   * Makes a new login known to the broker, where that keeps logins of its own: before the device is told it.
   * @throws (rejects) when the broker is away or refuses.
   */
  addLogin(login: DeviceLogin): Promise<void>;
  /** Whether what devices say is heard. */
  isWell(): boolean;
  /** As {@link isWell}, of a link that may take so long, milliseconds, to come. */
  isWellWithin(waitMs: number): Promise<boolean>;
  /** Of the embedded broker, `mqtt://host:port`; else null. */
  address: string | null;
  dropped: DroppedMessages;
};

export type MqttParts = {
  config: MqttConfig;
  stationId: string;
  /** Null: this backend is alone. */
  replicas: Replicas | null;
  /** Logins that were given beforehand. */
  logins: readonly DeviceLogin[];
  store: Store;
  devices: DeviceStore;
  events: DeviceEvents;
  /** What is on disk with each batch of reports, or not at all. */
  writeAlong: WriteAlong | undefined;
  clock: Clock;
  disk: Disk;
  logger: BackendLogger;
};

/** How long the broker keeps an answer to a handshake for a device that has gone again. */
const ackExpiresInMs = 60_000;

/**
 * Everything between devices and the database: broker, bridge, writer, and who is online. Disposing it stops hearing first, then writes what
 * was heard.
 */
export async function startMqtt(parts: MqttParts): Promise<Mqtt> {
  const { stationId, replicas, store, devices, events, writeAlong, clock, logger } = parts;
  await using starting = new AsyncDisposableStack();
  const dropped = createDroppedMessages({ clock, logger });
  const newId = createEventIds(() => clock.now());
  const writer = starting.use(
    createReportWriter({
      writeBatch: (reports) =>
        replicas?.writeReports(reports, newId, writeAlong) ?? writeReports(store, reports, newId, writeAlong),
      onWritten: (_given, { reports, before, cut }) => {
        for (const externalId of cut) dropped.drop('state_full', deviceTopic(stationId, externalId, 'state'));
        // With others it is told at all of them at once.
        if (replicas === null) onWritten(reports, before);
      },
      onFailure: (error) =>
        logger.event('unexpected_error', { where: 'writing reports', message: describeError(error) }),
      clock,
    }),
  );
  const onWritten = (reports: readonly DeviceReport[], before: StatesBefore | undefined): void => {
    events.emit({ kind: 'reports', reports, ...(before === undefined ? {} : { before }) });
    keeper.written(reports);
  };
  const keeper = starting.use(
    createAvailabilityKeeper({
      devices: await devices.list(),
      write: writer.write,
      events,
      clock,
      isShared: replicas !== null,
    }),
  );
  const rereadStatuses = async (): Promise<void> => {
    for (const { id: deviceId, status, status_at: at } of await devices.list()) {
      if (status !== 'unknown') keeper.written([{ kind: 'status', deviceId, status, at: at ?? clock.now() }]);
    }
  };
  if (replicas !== null) starting.use(replicas.onGap(rereadStatuses));
  const directory = starting.use(createDeviceDirectory({ devices, events, clock }));
  const closing = new AbortController();
  starting.defer(() => closing.abort());
  const bridge = createBridge({
    stationId,
    directory,
    writer,
    keeper,
    will: (deviceId, ageMs) => (replicas === null ? keeper.will(deviceId) : replicas.tellWill(deviceId, ageMs)),
    dropped,
    publish: (topic, payload) => link.publish(topic, payload, ackExpiresInMs),
    clock,
    logger,
    signal: closing.signal,
  });
  const authority = await readBrokerAuthority(parts.config, parts.disk);
  const onListening = (now: boolean): void => {
    keeper.listening(now);
    if (now) logins?.lookAgain();
  };
  let logins: BrokerLogins | null = null;
  const linkParts = { bridge, keeper, onListening, dropped, waiting: writer.waiting, onReports: onWritten, authority };
  const link = starting.use(await openLink(parts, linkParts));
  logins = await openLogins(parts, authority);
  if (logins !== null) starting.use(logins);
  starting.use(
    events.subscribe((event) => {
      if (event.kind === 'added' || event.kind === 'removed') link.disconnect(event.externalId);
      if (event.kind === 'removed') logins?.remove(event.externalId);
    }),
  );
  if (link.address !== null) logger.event('mqtt_listening', { address: link.address });
  const running = starting.move();
  return {
    dropped,
    address: link.address,
    isWell: link.isWell,
    isWellWithin: (waitMs) => isWellWithin(link.isWell, waitMs, clock),
    addLogin: async (login) => logins?.add(login),
    publishCommand: (externalId, payload, expiresInMs) =>
      link.publish(deviceTopic(stationId, externalId, 'command'), JSON.stringify(payload), expiresInMs),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Null when the broker asks the station for each login, or lets someone else keep them. */
async function openLogins(
  { config, stationId, logins: known, replicas, store, devices, clock, logger }: MqttParts,
  authority: string | null,
): Promise<BrokerLogins | null> {
  if (config.kind === 'embedded') return null;
  const address = new URL(config.url);
  const username = config.username ?? decodeURIComponent(address.username);
  if (username === '') return null;
  const password = config.password ?? decodeURIComponent(address.password);
  const { createDynsec } = await import('./dynsec.ts');
  const dynsec = createDynsec({ url: config.url, username, password, authority, stationId });
  const externalIds = async (): Promise<string[]> => (await devices.list()).map(({ external_id }) => external_id);
  const isGone = async (externalId: string): Promise<boolean> => (await devices.findByExternalId(externalId)) === null;
  const sharing = replicas === null ? {} : { exclusively: replicas.exclusively };
  const removed = createRemovedLogins(store.db);
  return startBrokerLogins({ dynsec, known, externalIds, removed, isGone, clock, logger, ...sharing });
}

type LinkParts = {
  bridge: Bridge;
  keeper: AvailabilityKeeper;
  onListening: (now: boolean) => void;
  dropped: DroppedMessages;
  waiting: () => number;
  onReports: (reports: readonly DeviceReport[], before: StatesBefore | undefined) => void;
  authority: string | null;
};

async function openLink(
  { config, stationId, replicas, devices, clock, logger }: MqttParts,
  { bridge, keeper, onListening, dropped, waiting, onReports, authority }: LinkParts,
): Promise<BrokerLink> {
  const handler: BrokerLinkHandler = { onMessage: bridge.receive, onListening };
  // Only the one that is used: each comes with a library of its own.
  if (config.kind === 'external') {
    const { connectBroker } = await import('./broker-client.ts');
    const own = { ...config, authority, clientId: `station-${stationId}`, shared: null, handler, waiting, logger };
    if (replicas === null) return connectBroker(own);
    const { openSharedLink } = await import('../replicas/shared-link.ts');
    return openSharedLink({ replicas, keeper, onReports, connect: connectBroker, own, stationId });
  }
  const findTokenHash = async (externalId: string): Promise<string | null> =>
    (await devices.findByExternalId(externalId))?.device_token ?? null;
  const onRefused = createRefusedLogins({ clock, logger });
  const onError = (error: unknown): void =>
    logger.event('unexpected_error', { where: 'the embedded broker', message: describeError(error) });
  const { startBroker } = await import('./broker.ts');
  return startBroker({ ...config, stationId, findTokenHash, handler, dropped, onRefused, onError });
}
