import type { IPublishPacket, MqttClient } from 'mqtt';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { describeError } from '@station/kit/station-error';
import { maxGatewayPayloadBytes, subscriptions } from '@station/protocol/topics';
import { type BrokerAccess, endMqttClient, followVersion, openMqttClient } from './adapters/mqtt-client.ts';
import { type BrokerLink, type BrokerLinkHandler, createSharedWait } from './broker-link.ts';
import { createListeners } from './listeners.ts';
import { createPublisher } from './publisher.ts';
import { createSessionBacklog, type SessionBacklog, type SharedSession } from './session-backlog.ts';

/** A link whose session the broker keeps while the link is offline. */
export type BrokerSession = BrokerLink & {
  /** Receives the rest of the session, then ends it. @returns whether there was one. @throws (rejects) when the broker is offline. */
  retire(): Promise<boolean>;
};

export type BrokerClientOptions = BrokerAccess & {
  /** How many messages the broker sends without an acknowledgement. */
  inflight: number;
  stationId: string;
  /** The broker keeps the session under this id, which belongs to the station or to one of its replicas. */
  clientId: string;
  /** Null: there is only this backend, and it receives all messages of devices. */
  shared: SharedSession | null;
  /** The link only empties a previous session and subscribes to nothing. */
  isLeaving?: boolean;
  /** Topic filters of other systems: what the broker keeps of them is taken, too. */
  filters: () => readonly string[];
  /**
   * Called when the connection ends, which also happens at a session takeover (not every broker reports it). The link then does not
   * reconnect. Unset: it reconnects.
   */
  onTaken?: () => void;
  handler: BrokerLinkHandler;
  /** Number of reports that wait to be written. */
  waiting: () => number;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  logger: BackendLogger;
};

/** How long the broker keeps messages of devices while the backend is offline, seconds. */
const sessionExpirySeconds = 14 * 24 * 60 * 60;
/** Messages that the broker may send without an acknowledgement: as many as one batch can write. */
const receiveMaximum = 5_000;
/** Above either limit, reading pauses until what was read is written. */
const maxWaiting = 20_000;
/** Limit of their payloads: a message may have 256 KiB, and the memory of a gateway is small. */
const maxWaitingBytes = 32 * 1024 * 1024;
/** After this time without a message, a session counts as empty. */
const quietMs = 5_000;

type ClientState = {
  options: BrokerClientOptions;
  client: MqttClient;
  /** Host and port, for the log. */
  broker: string;
  backlog: SessionBacklog | null;
  isSubscribed: boolean;
  /** Filters of other systems that are subscribed. */
  filters: readonly string[];
  /** Why the connection failed last. */
  failure: string | null;
  /** The broker still had the session. */
  isResumed: boolean;
  wasConnected: boolean;
};

/**
 * A connection to an external broker (Mosquitto or any other) by MQTT 5, or 3.1.1 if it supports nothing newer. The broker keeps the
 * session: it delivers QoS 1 messages that devices sent while the backend was offline.
 */
export function connectBroker(options: BrokerClientOptions): BrokerSession {
  const client = openMqttClient(options, {
    clientId: options.clientId,
    clean: false,
    properties: {
      sessionExpiryInterval: sessionExpirySeconds,
      receiveMaximum,
      maximumPacketSize: maxGatewayPayloadBytes + 70_000,
    },
  });
  const listeners = createListeners({ stationId: options.stationId, publish: createPublisher(client, options.clock) });
  const backlog = options.shared && createSessionBacklog(options.shared);
  const { quiet } = acknowledgeWhenDone(client, options, backlog);
  const state: ClientState = {
    options,
    client,
    broker: new URL(options.url).host,
    backlog,
    isSubscribed: false,
    filters: [],
    failure: null,
    isResumed: false,
    wasConnected: false,
  };
  client.on('connect', ({ sessionPresent }) => onConnect(state, sessionPresent));
  client.on('close', () => onClose(state));
  client.on('error', (error) => onError(state, error));
  return {
    addresses: [],
    isReady: () => state.isSubscribed && client.connected,
    publish: async (...message) => void (await listeners.publish(...message)),
    presenceOf: listeners.presenceOf,
    onFiltersChanged: () => void followFilters(state),
    retire: () => retire(state, quiet),
    // The broker ends the connection when its login is removed.
    disconnect: () => undefined,
    [Symbol.asyncDispose]: async () => {
      setSubscribed(state, false);
      // Waits for nothing: the broker sends unacknowledged messages again.
      await client.endAsync(true);
    },
  };
}

function onConnect(state: ClientState, isResumed: boolean): void {
  const { options, client, backlog } = state;
  state.isResumed = isResumed;
  state.wasConnected = true;
  if (options.isLeaving) return;
  subscribe(client, topicsOf(options.shared)).then(
    () => {
      if (options.shared && backlog) client.publish(options.shared.markerTopic, backlog.marker(), { qos: 1 });
      state.failure = null;
      setSubscribed(state, true);
      state.filters = [];
      void followFilters(state);
    },
    (error: unknown) => reportFailure(state, error),
  );
}

/**
 * Subscribes to the topics of other systems. What the broker keeps is sent again (`rh: 0`); commands, which we publish there, are not sent to us (`nl`, MQTT 5,
 * section 3.8.3.1).
 */
async function followFilters(state: ClientState): Promise<void> {
  const { options, client } = state;
  // Several backends share the messages of devices; what is retained is not shared.
  if (options.shared !== null || !state.isSubscribed) return;
  const filters = options.filters();
  const added = filters.filter((filter) => !state.filters.includes(filter));
  const gone = state.filters.filter((filter) => !filters.includes(filter));
  state.filters = filters;
  try {
    if (gone.length > 0) await client.unsubscribeAsync(gone);
    if (added.length === 0) return;
    const granted = await client.subscribeAsync(added, { qos: 1, rh: 0, nl: client.options.protocolVersion === 5 });
    const refused = granted.filter(({ qos }) => (qos as number) >= 128).map(({ topic }) => topic);
    if (refused.length > 0) throw new Error(`The broker refuses ${refused.join(', ')}`);
  } catch (error) {
    state.filters = [];
    options.logger.failed('subscribing to the topics of another system', error);
  }
}

function onClose(state: ClientState): void {
  const { options, client } = state;
  setSubscribed(state, false);
  if (options.onTaken === undefined || !state.wasConnected) return;
  client.end(true);
  options.onTaken();
}

function onError(state: ClientState, error: Error): void {
  const { options, client } = state;
  // Several backends share a subscription, which MQTT 3.1.1 does not have.
  if (options.shared === null) followVersion(client, error);
  reportFailure(state, error);
}

function setSubscribed(state: ClientState, isSubscribed: boolean): void {
  const { options, broker, failure } = state;
  if (state.isSubscribed === isSubscribed) return;
  state.isSubscribed = isSubscribed;
  options.handler.onListening(isSubscribed);
  if (isSubscribed) options.logger.event('mqtt_connected', { broker });
  else options.logger.event('mqtt_disconnected', { broker, reason: failure ?? 'The connection ended' });
}

function reportFailure(state: ClientState, error: unknown): void {
  const { options, broker } = state;
  const reason = describeError(error);
  // An offline broker causes the same error every second.
  if (!state.isSubscribed && reason !== state.failure) options.logger.event('mqtt_disconnected', { broker, reason });
  state.failure = reason;
}

/** @returns whether there was a session. */
async function retire(state: ClientState, quiet: () => Promise<void>): Promise<boolean> {
  const { options, client } = state;
  if (!client.connected) await new Promise<void>((resolve) => client.once('connect', () => resolve()));
  if (state.isResumed) {
    // New messages now go to the other replicas; this session still delivers what it holds.
    await client.unsubscribeAsync(topicsOf(options.shared));
    await quiet();
  }
  await endMqttClient(client, { properties: { sessionExpiryInterval: 0 } });
  return state.isResumed;
}

const topicsOf = (shared: SharedSession | null): string[] =>
  shared === null
    ? [...subscriptions]
    : [...subscriptions.map((topic) => `$share/${shared.group}/${topic}`), shared.markerTopic];

/** @throws (rejects) when the broker refuses one of the topics. */
async function subscribe(client: MqttClient, topics: string[]): Promise<void> {
  // A retained message is out of date; only new messages are taken (`rh: 2`, MQTT 5, section 3.8.3.1).
  const granted = await client.subscribeAsync(topics, { qos: 1, rh: 2 });
  const refused = granted.filter(({ qos }) => (qos as number) >= 128).map(({ topic }) => topic);
  if (refused.length > 0) throw new Error(`The broker refuses ${refused.join(', ')}`);
}

/**
 * The client library acknowledges each message before it handles the next; waiting for the disk each time would be slow. Here a message is
 * handled immediately, and its PUBACK is sent once its batch is on disk, on the same connection, together with those of the batch.
 */
function acknowledgeWhenDone(
  client: MqttClient,
  { handler, waiting, shared, inflight, clock }: BrokerClientOptions,
  backlog: SessionBacklog | null,
): { quiet(): Promise<void> } {
  let receivedMs = clock.monotonic();
  let open = 0;
  client.on('packetreceive', (packet) => {
    if (packet.cmd === 'connack') backlog?.connected(packet.sessionPresent);
    backlog?.received();
    if (packet.cmd !== 'publish' || packet.qos !== 1 || packet.messageId === undefined) return;
    // The library then sends no acknowledgement; `messageId` stays, so that we can.
    packet.qos = 0;
  });
  const acknowledgementsBy = (stream: MqttClient['stream']) => {
    const send = (ids: readonly (number | undefined)[]): void => {
      if (client.stream !== stream || stream.destroyed || !client.connected) return;
      const packets = pubacks(ids);
      if (packets.length > 0) stream.write(packets);
    };
    const handled = createSharedWait<number | undefined>((ids) => {
      open -= ids.length;
      send(ids);
    });
    return { stream, send, handled };
  };
  let waitingBytes = 0;
  const written = createSharedWait<number>((sizes) => sizes.forEach((size) => (waitingBytes -= size)));
  let acknowledgements: ReturnType<typeof acknowledgementsBy> | null = null;
  client.handleMessage = (packet: IPublishPacket, done) => {
    const { messageId } = packet;
    if (acknowledgements?.stream !== client.stream) acknowledgements = acknowledgementsBy(client.stream);
    const isOwn = packet.topic.startsWith('station/');
    // A retained message of a device is out of date.
    if (packet.retain && isOwn) {
      acknowledgements.send([messageId]);
      return done();
    }
    const payload = typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload;
    if (packet.topic === shared?.markerTopic) {
      backlog?.marked(payload.toString('utf8'));
      acknowledgements.send([messageId]);
      return done();
    }
    receivedMs = clock.monotonic();
    open += 1;
    const sentAt = backlog?.sentAt(packet.dup);
    const { topic } = packet;
    // The broker must never have to wait for what may wait: then new messages would be late.
    const mayWait = shared === null && open <= inflight / 2;
    const message = sentAt === undefined ? { topic, payload, mayWait } : { topic, payload, sentAt, mayWait };
    const handled = handler.onMessage(packet.retain ? { ...message, isRetained: true } : message);
    acknowledgements.handled(handled, messageId);
    waitingBytes += payload.length;
    written(handled, payload.length);
    if (waiting() < maxWaiting && waitingBytes <= maxWaitingBytes) return done();
    void handled.then(() => done());
  };
  return {
    quiet: async () => {
      while (open > 0 || clock.monotonic() - receivedMs < quietMs) await clock.sleep(quietMs / 10);
    },
  };
}

/** The PUBACKs of all ids in one buffer. Success needs no reason code (MQTT 5, section 3.4.2.1), which also suits MQTT 3.1.1. */
function pubacks(ids: readonly (number | undefined)[]): Buffer {
  const packets = Buffer.allocUnsafe(ids.length * 4);
  let end = 0;
  for (const id of ids) {
    // QoS 0 has no id.
    if (id === undefined) continue;
    packets.writeUInt16BE(0x4002, end);
    packets.writeUInt16BE(id, end + 2);
    end += 4;
  }
  return packets.subarray(0, end);
}
