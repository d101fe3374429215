import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type IClientOptions, type IPublishPacket, type MqttClient } from 'mqtt';
import { writeToStream } from 'mqtt-packet';
import { describeError } from '@station/kit/station-error';
import { maxPayloadBytes, subscriptions } from '@station/protocol/topics';
import type { BackendLogger } from '@station/kit/logger';
import type { BrokerLink, BrokerLinkHandler } from './broker-link.ts';
import { createPublisher, NothingKept } from './publisher.ts';
import { createSharedWait } from './shared-wait.ts';
import { createSessionBacklog, type SessionBacklog, type SharedSession } from './session-backlog.ts';

/** A link whose session the broker keeps while it is away. */
export type BrokerSession = BrokerLink & {
  /** Takes in what the session still has, then ends it for good. @returns whether there was one. @throws (rejects) when the broker is away. */
  retire(): Promise<boolean>;
};

export type BrokerClientOptions = {
  /** `mqtt://` or `mqtts://`; a login in it is used when none is given beside. */
  url: string;
  username: string | null;
  password: string | null;
  /** Certificates (PEM) that vouch for an `mqtts://` broker; null: those that Node knows. */
  authority: string | null;
  /** Under which the broker keeps the session: that of a station, or of one of its replicas. */
  clientId: string;
  /** Null: this backend is alone, all that devices say comes here. */
  shared: SharedSession | null;
  /** It is there to empty a session of before, and asks for nothing more. */
  isLeaving?: boolean;
  /**
   * The connection ended, as it does when another one takes the session over (not every broker says so); this one does not come back then.
   * Unset: it does.
   */
  onTaken?: () => void;
  handler: BrokerLinkHandler;
  /** Reports that wait to be written. */
  waiting: () => number;
  logger: BackendLogger;
};

const reconnectMs = 1_000;
const connectTimeoutMs = 10_000;
/** While the backend is away the broker keeps what devices say for so long, seconds. */
const sessionExpirySeconds = 14 * 24 * 60 * 60;
/** Messages that the broker may send without an acknowledgement: as many as one wait for the disk can take along. */
const receiveMaximum = 5_000;
/** Above either nothing more is read, until what was read is written. */
const maxWaiting = 20_000;
/** Of their payloads: a message may have 256 KiB, and a gateway have memory for other things. */
const maxWaitingBytes = 32 * 1024 * 1024;
/** Nothing comes any more. */
const quietMs = 5_000;
/** CONNACK of a broker that only speaks MQTT 3.1.1 (there, section 3.2.2.3), or says so as MQTT 5 does. */
const wrongVersion: readonly unknown[] = [1, 0x84];

/**
 * A connection to a broker of its own (Mosquitto or any other), by MQTT 5, or 3.1.1 where it knows no better. The session is kept by the
 * broker: what devices publish at QoS 1 while the backend is away comes when it is back.
 */
export function connectBroker(options: BrokerClientOptions): BrokerSession {
  const { handler, logger } = options;
  // As in the embedded broker: 8 MB less.
  writeToStream.cacheNumbers = false;
  const broker = new URL(options.url).host;
  const client = connect(options.url, clientOptions(options));
  const publish = createPublisher(client);
  const backlog = options.shared && createSessionBacklog(options.shared);
  const { quiet } = acknowledgeWhenDone(client, options, backlog);
  let isSubscribed = false;
  let failure: string | null = null;

  const listening = (now: boolean): void => {
    if (isSubscribed === now) return;
    isSubscribed = now;
    handler.onListening(now);
    if (now) logger.event('mqtt_connected', { broker });
    else logger.event('mqtt_disconnected', { broker, reason: failure ?? 'The connection ended' });
  };
  let isResumed = false;
  let wasConnected = false;
  client.on('connect', ({ sessionPresent }) => {
    isResumed = sessionPresent;
    wasConnected = true;
    if (options.isLeaving) return;
    subscribe(client, topicsOf(options.shared)).then(
      () => {
        if (options.shared && backlog) client.publish(options.shared.markerTopic, backlog.marker(), { qos: 1 });
        failure = null;
        listening(true);
      },
      (error: unknown) => tell(error),
    );
  });
  client.on('close', () => {
    listening(false);
    if (options.onTaken === undefined || !wasConnected) return;
    client.end(true);
    options.onTaken();
  });
  const tell = (error: unknown): void => {
    const reason = describeError(error);
    // A broker that is away says the same every second.
    if (!isSubscribed && reason !== failure) logger.event('mqtt_disconnected', { broker, reason });
    failure = reason;
  };
  client.on('error', (error) => {
    if ('code' in error && wrongVersion.includes(error.code) && options.shared === null) {
      client.options.protocolVersion = 4;
      delete client.options.properties;
    }
    tell(error);
  });

  return {
    address: null,
    isReady: () => isSubscribed && client.connected,
    publish,
    retire: async () => {
      if (!client.connected) await new Promise<void>((resolve) => client.once('connect', () => resolve()));
      if (isResumed) {
        // What comes from now on goes to the others; what this session has comes still.
        await client.unsubscribeAsync(topicsOf(options.shared));
        await quiet();
      }
      await client.endAsync(false, { properties: { sessionExpiryInterval: 0 } });
      return isResumed;
    },
    // Its login is taken from it at the broker.
    disconnect: () => undefined,
    [Symbol.asyncDispose]: async () => {
      listening(false);
      // Waits for nothing: what the broker was not told of it sends again.
      await client.endAsync(true);
    },
  };
}

function clientOptions({ clientId, username, password, authority }: BrokerClientOptions): IClientOptions {
  return {
    protocolVersion: 5,
    clientId,
    clean: false,
    properties: {
      sessionExpiryInterval: sessionExpirySeconds,
      receiveMaximum,
      maximumPacketSize: maxPayloadBytes + 70_000,
    },
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(authority === null ? {} : { ca: authority }),
    reconnectPeriod: reconnectMs,
    // Also after the broker refused the login: it may be provisioned a moment later.
    reconnectOnConnackError: true,
    connectTimeout: connectTimeoutMs,
    queueQoSZero: false,
    outgoingStore: new NothingKept(),
    resubscribe: false,
    keepalive: 30,
  };
}

const topicsOf = (shared: SharedSession | null): string[] =>
  shared === null
    ? [...subscriptions]
    : [...subscriptions.map((topic) => `$share/${shared.group}/${topic}`), shared.markerTopic];

/** @throws (rejects) when the broker refuses one of the topics. */
async function subscribe(client: MqttClient, topics: string[]): Promise<void> {
  // A retained message says how it once was; only what happens is taken (`rh: 2`, MQTT 5, section 3.8.3.1).
  const granted = await client.subscribeAsync(topics, { qos: 1, rh: 2 });
  const refused = granted.filter(({ qos }) => (qos as number) >= 128).map(({ topic }) => topic);
  if (refused.length > 0) throw new Error(`The broker refuses ${refused.join(', ')}`);
}

/**
 * The client library handles one message at a time and acknowledges it before the next; with a wait for the disk each, that would be slow.
 * Here a message is handed over at once and its acknowledgement (PUBACK) sent when it is on disk, on the connection it came by, together
 * with those of all that were written with it.
 */
function acknowledgeWhenDone(
  client: MqttClient,
  { handler, waiting, shared }: BrokerClientOptions,
  backlog: SessionBacklog | null,
): { quiet(): Promise<void> } {
  let heardMs = performance.now();
  let open = 0;
  client.on('packetreceive', (packet) => {
    if (packet.cmd === 'connack') backlog?.connected(packet.sessionPresent);
    backlog?.heard();
    if (packet.cmd !== 'publish' || packet.qos !== 1 || packet.messageId === undefined) return;
    // So that the library owes nothing for it; its id is kept, which one of QoS 0 has not.
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
    if (packet.retain) {
      acknowledgements.send([messageId]);
      return done();
    }
    const payload = typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload;
    if (packet.topic === shared?.markerTopic) {
      backlog?.marked(payload.toString('utf8'));
      acknowledgements.send([messageId]);
      return done();
    }
    heardMs = performance.now();
    open += 1;
    const saidAt = backlog?.saidAt(packet.dup);
    const { topic } = packet;
    const handled = handler.onMessage(saidAt === undefined ? { topic, payload } : { topic, payload, saidAt });
    acknowledgements.handled(handled, messageId);
    waitingBytes += payload.length;
    written(handled, payload.length);
    if (waiting() < maxWaiting && waitingBytes <= maxWaitingBytes) return done();
    void handled.then(() => done());
  };
  return {
    quiet: async () => {
      while (open > 0 || performance.now() - heardMs < quietMs) await sleep(quietMs / 10);
    },
  };
}

/** PUBACK of each id, in one: of success, so without a reason code (MQTT 5, section 3.4.2.1), as MQTT 3.1.1 knows it. */
function pubacks(ids: readonly (number | undefined)[]): Buffer {
  const packets = Buffer.allocUnsafe(ids.length * 4);
  let end = 0;
  for (const id of ids) {
    // Of QoS 0.
    if (id === undefined) continue;
    packets.writeUInt16BE(0x4002, end);
    packets.writeUInt16BE(id, end + 2);
    end += 4;
  }
  return packets.subarray(0, end);
}
