import { type Disk, readText } from '@station/kit/durable-files';
import { loginOfUrl } from '@station/kit/url-login';
import { deviceTopic } from '@station/protocol/topics';
import type { BackendConditions } from '../core/conditions.ts';
import { commandMessage, type PublishCommand } from '../core/commands.ts';
import type { ExpectedDevices } from '../core/expected-devices-port.ts';
import type { ForeignDevices, GatewayBroker } from '../core/foreign-devices-port.ts';
import type { DeviceTypeRegistry } from '../core/type-registry.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { MqttPorts } from './adapters/mqtt-server.ts';
import { ackExpiresInMs, createBridge } from './bridge.ts';
import {
  type BrokerLink,
  type BrokerLinkHandler,
  createOutgoing,
  isReadyWithin,
  trackOpenMessages,
} from './broker-link.ts';
import { type BrokerLogins, startBrokerLogins } from './broker-logins.ts';
import { createDeviceDirectory, type KnownDevice } from './device-directory.ts';
import { createDroppedMessages, type DroppedMessages } from './dropped-messages.ts';
import type { DeviceLogin } from './dynsec.ts';
import { createForeignInlet, ownForm } from './foreign-inlet.ts';
import { createForeignStations } from './foreign-stations.ts';
import { openGatewayBroker } from './gateway-broker.ts';
import { createHistoryRate } from './history-rate.ts';
import { createWills } from './wills.ts';
import type { RemovedLogins, UnregisteredDevices } from './ports.ts';
import { createRefusals } from './refusals.ts';
import { followCertificate } from './broker-certificate.ts';
import { createReconnects, type Reconnects } from './reconnects.ts';
import { openReportFlow, type ReportFlow, type ReportFlowParts } from './report-flow.ts';

/** The embedded broker, or an external one. */
export type MqttConfig =
  | {
      kind: 'embedded';
      host: string;
      ports: MqttPorts;
      /** PEM file with the certificate of the broker and its key; null: the port for TLS is closed. */
      certificateFile: string | null;
    }
  | {
      kind: 'external';
      url: string;
      /** How many messages the broker sends without an acknowledgement. */
      inflight: number;
      username: string | null;
      password: string | null;
      /** PEM file of the certificate authorities for an `mqtts://` broker; null: Node's default list. */
      caFile: string | null;
    };

export type Mqtt = AsyncDisposable & {
  publishCommand: PublishCommand;
  /**
   * Adds or replaces logins at a broker that stores its own logins. A replaced login ends its connections.
   * @throws (rejects) when the broker is offline or refuses, or has not begun when `signal` aborts. Some of the logins may be there.
   */
  addLogins(logins: readonly DeviceLogin[], signal: AbortSignal): Promise<void>;
  /** Answers `ok` to a handshake that waits since before the device was accepted. @throws (rejects) as `publishCommand`. */
  answerHandshake(externalId: string): Promise<void>;
  /** Ends the connection of a device, so that it connects again. @throws (rejects) when the broker is offline or refuses. */
  reconnect(externalId: string): Promise<void>;
  /** Whether messages of devices are being received. */
  isReady(): boolean;
  /** As {@link isReady}, but waits up to `waitMs` milliseconds for the link. */
  isReadyWithin(waitMs: number): Promise<boolean>;
  /** Addresses of the embedded broker: `mqtt://host:port`, `mqtts://host:port`. */
  addresses: string[];
  dropped: DroppedMessages;
  /** Number of reports that wait to be written. */
  waiting(): number;
  /** Ids of the devices that are online and have sent something since the backend started. */
  heard(): string[];
};

export type MqttParts = ReportFlowParts & {
  config: MqttConfig;
  stationId: string;
  /** Preset logins (DEVICES_FILE). */
  logins: readonly DeviceLogin[];
  types: DeviceTypeRegistry;
  removedLogins: RemovedLogins;
  unregistered: UnregisteredDevices;
  expected: ExpectedDevices;
  foreign: ForeignDevices;
  conditions: Pick<BackendConditions, 'set'>;
  disk: Disk;
};

/**
 * Everything between devices and the database: broker, bridge, writer, and availability. Disposing first stops receiving, then writes what
 * was received.
 */
export async function startMqtt(parts: MqttParts): Promise<Mqtt> {
  const { stationId, foreign, events, clock, logger } = parts;
  await using starting = new AsyncDisposableStack();
  const dropped = createDroppedMessages({ clock, logger });
  const flow = await openReportFlow(starting, parts, dropped);
  const outgoing = createOutgoing();
  const { bridge, reconnects } = openBridge(starting, parts, { flow, outgoing, dropped });
  const authority = await readBrokerAuthority(parts.config, parts.disk);
  let logins: BrokerLogins | null = null;
  const onListening = (now: boolean): void => {
    flow.keeper.listening(now);
    if (now) logins?.checkAgain();
  };
  const inlet = createForeignInlet({ stationId, foreign, receive: bridge.receive, clock, logger });
  const open = trackOpenMessages(inlet.receive);
  // After the link is closed: devices do not repeat messages at QoS 0.
  starting.defer(() => {
    flow.writer.hurry();
    return open.settled(clock);
  });
  const handler = { onMessage: open.receive, onListening };
  const link = starting.use(await openLink(parts, { handler, flow, dropped, authority, reconnects }));
  outgoing.attach(link);
  logins = await openLogins(parts, authority);
  if (logins !== null) starting.use(logins);
  starting.use(followDevices(events, link, logins));
  const receive: GatewayBroker['receive'] = (message) => open.receive(ownForm(stationId, message));
  const external = parts.config.kind === 'external' ? { ...parts.config, stationId, authority, clock } : null;
  const broker = await openGatewayBroker(starting, { link, logins, inlet: { receive, hear: inlet.hear }, external });
  starting.use(foreign.attach(broker));
  for (const address of link.addresses) logger.event('mqtt_listening', { address });
  const running = starting.move();
  return {
    ...accessTo(link, logins, parts),
    dropped,
    waiting: flow.writer.waiting,
    heard: flow.keeper.heard,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

type BridgeEnds = { flow: ReportFlow; outgoing: ReturnType<typeof createOutgoing>; dropped: DroppedMessages };

/** What handles the messages of devices, and answers them over the link. */
function openBridge(opened: AsyncDisposableStack, parts: MqttParts, { flow, outgoing, dropped }: BridgeEnds) {
  const { stationId, sharing, devices, events, clock, logger } = parts;
  const { writer, keeper, faults } = flow;
  const directory = opened.use(createDeviceDirectory({ devices, events, clock }));
  const closing = new AbortController();
  opened.defer(() => closing.abort());
  const { signal } = closing;
  const reconnects = opened.use(createReconnects(parts));
  const bridge = createBridge({
    stationId,
    directory,
    types: parts.types,
    unregistered: parts.unregistered,
    foreign: parts.foreign,
    foreignStations: opened.use(createForeignStations(parts)),
    writer,
    keeper,
    faults,
    history: opened.use(createHistoryRate({ events, now: clock.monotonic })),
    reconnects,
    will: willsOf(
      parts,
      keeper,
      createWills({
        presence: outgoing.presence,
        // A replica does not know of every device whether it subscribes: there a will that nobody can judge counts.
        counts: (deviceId, ageMs, doubtMs) => {
          if (sharing === null) keeper.will(deviceId, ageMs, doubtMs);
          else sharing.publishWill(deviceId, ageMs);
        },
        clock,
        signal,
      }),
    ),
    dropped,
    publish: outgoing.publish,
    clock,
    logger,
    signal,
  });
  return { bridge, reconnects };
}

type Will = (device: KnownDevice, ageMs: number) => void;

/** Of a foreign device nobody is asked whether it is connected: its gateway has said it. */
const willsOf =
  ({ foreign }: MqttParts, keeper: ReportFlow['keeper'], own: Will): Will =>
  (device, ageMs) =>
    foreign.isForeign(device.externalId) ? keeper.will(device.id, ageMs) : own(device, ageMs);

/** How the rest of the backend uses the broker. */
const accessTo = (link: BrokerLink, logins: BrokerLogins | null, { stationId, foreign, clock }: MqttParts) => ({
  addresses: link.addresses,
  isReady: link.isReady,
  isReadyWithin: (waitMs: number) => isReadyWithin(link.isReady, waitMs, clock),
  addLogins: async (added: readonly DeviceLogin[], signal: AbortSignal) => logins?.add(added, signal),
  answerHandshake: (externalId: string) =>
    link.publish(deviceTopic(stationId, externalId, 'handshake/ack'), '{"status":"ok"}', ackExpiresInMs),
  reconnect: async (externalId: string) => {
    link.disconnect(externalId);
    await logins?.reconnect(externalId);
  },
  publishCommand: async (externalId: string, payload: Record<string, unknown>, expiresInMs: number) => {
    if (foreign.isForeign(externalId)) {
      const written = foreign.write(externalId, payload);
      if (written === null) throw new Error('The gateway of this device has no such command');
      for (const message of written) await link.publish(message.topic, message.payload, expiresInMs);
      return;
    }
    const { topic, text } = commandMessage(stationId, externalId, payload);
    await link.publish(topic, text, expiresInMs);
  },
});

/** A device that is provisioned again gets a new login; a removed device loses its login later. */
const followDevices = (events: DeviceEvents, link: BrokerLink, logins: BrokerLogins | null): Disposable =>
  events.subscribe((event) => {
    const isOver = event.kind === 'login_ended';
    if (isOver || (event.kind === 'added' && event.isLoginKept !== true)) link.disconnect(event.externalId);
    if (!isOver) return;
    void link.forget?.(event.externalId);
    logins?.remove(event.externalId);
  });

/** External ids in the details of a condition. */
const maxListed = 20;

/** Null when the embedded broker checks logins itself, or when MQTT_URL has no login to manage them with. */
async function openLogins(
  {
    config,
    stationId,
    logins: known,
    removedLogins: removed,
    expected,
    foreign,
    sharing,
    devices,
    ...parts
  }: MqttParts,
  authority: string | null,
): Promise<BrokerLogins | null> {
  if (config.kind === 'embedded') return null;
  const { conditions, clock, logger } = parts;
  const address = new URL(config.url);
  const username = config.username ?? loginOfUrl(address.username);
  if (username === '') return null;
  const password = config.password ?? loginOfUrl(address.password);
  const { createDynsec } = await import('./dynsec.ts');
  const dynsec = createDynsec({ url: config.url, username, password, authority, stationId });
  // Devices of gateways need no login.
  const externalIds = async (): Promise<string[]> =>
    (await devices.list()).map(({ external_id }) => external_id).filter((id) => !foreign.isForeign(id));
  const isGone = async (externalId: string): Promise<boolean> =>
    (await devices.findByExternalId(externalId)) === null && !(await expected.hasLogin(externalId));
  const shared = sharing === null ? {} : { exclusively: sharing.exclusively };
  const onMissing = (missing: readonly string[]): void => {
    const details = { externalIds: missing.slice(0, maxListed), count: missing.length };
    conditions.set('device_logins_missing', missing.length > 0, details);
  };
  return startBrokerLogins({ dynsec, known, externalIds, removed, isGone, onMissing, clock, logger, ...shared });
}

type LinkParts = {
  handler: BrokerLinkHandler;
  flow: ReportFlow;
  dropped: DroppedMessages;
  authority: string | null;
  reconnects: Reconnects;
};

/** Loads only the link that is used: each needs its own library. */
async function openLink(
  { config, stationId, sharing, devices, unregistered, expected, foreign, disk, clock, logger }: MqttParts,
  { handler, flow, dropped, authority, reconnects }: LinkParts,
): Promise<BrokerLink> {
  const { keeper, onReports } = flow;
  if (config.kind === 'external') {
    const { connectBroker } = await import('./broker-client.ts');
    const own = {
      ...config,
      stationId,
      authority,
      clientId: `station-${stationId}`,
      shared: null,
      filters: foreign.filters,
      handler,
      waiting: flow.writer.waiting,
      clock,
      logger,
    };
    if (sharing === null) return connectBroker(own);
    return sharing.openLink({ keeper, onReports, connect: connectBroker, own, stationId });
  }
  const findTokenHash = async (externalId: string): Promise<string | null> =>
    (await devices.findByExternalId(externalId))?.device_token ?? null;
  const onError = (error: unknown): void => logger.failed('the embedded broker', error);
  const { startBroker } = await import('./broker.ts');
  await using opened = new AsyncDisposableStack();
  const { certificateFile: file } = config;
  const broker = opened.use(
    await startBroker({
      ...config,
      stationId,
      findTokenHash,
      unregistered,
      expected,
      foreign,
      handler,
      clock,
      dropped,
      refusals: createRefusals({ clock, logger }),
      onReplaced: (externalId) => reconnects.seen(externalId, 'replaced'),
      onError,
    }),
  );
  if (file !== null) opened.use(await followCertificate({ file, use: broker.useCertificate, disk, logger }));
  const all = opened.move();
  return { ...broker, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/**
 * Certificates (PEM) that the backend trusts for an `mqtts://` broker; null: Node's default list.
 * @throws {Error} when the file is missing or holds none: otherwise every connection would fail with a misleading error.
 */
async function readBrokerAuthority(config: MqttConfig, disk: Disk): Promise<string | null> {
  if (config.kind === 'embedded' || config.caFile === null) return null;
  const text = await readText(disk, config.caFile);
  if (text === null) throw new Error('There is no file where MQTT_CA_FILE points to');
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new Error('The file of MQTT_CA_FILE holds no certificate (PEM)');
  return text;
}
