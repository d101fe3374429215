import type { EventEmitter } from 'node:events';
import type { Aedes, AedesOptions, Client } from 'aedes';
import type { Clock } from '@station/kit/clock';
import {
  coversTopics,
  deviceTopic,
  maxGatewayPayloadBytes,
  maxPayloadBytes,
  parseDeviceTopic,
  stationTopicEnds,
} from '@station/protocol/topics';
import type { ForeignDevices } from '../core/foreign-devices-port.ts';
import { createKeptSessions } from './adapters/kept-sessions.ts';
import {
  createAedes,
  createReadingStops,
  listenForMqtt,
  type MqttPorts,
  type MqttServer,
  type MqttServerOptions,
} from './adapters/mqtt-server.ts';
import { type BrokerLink, type BrokerLinkHandler, createSharedWait } from './broker-link.ts';
import { type LogInParts, logInRules } from './broker-log-in.ts';
import { createFairReading, type FairReading } from './fair-reading.ts';
import type { DroppedMessages } from './dropped-messages.ts';

export type BrokerOptions = LogInParts & {
  host: string;
  ports: MqttPorts;
  stationId: string;
  handler: BrokerLinkHandler;
  foreign: Pick<ForeignDevices, 'findLogin' | 'refused'>;
  clock: Pick<Clock, 'monotonic'>;
  dropped: DroppedMessages;
  /** A device of the station has connected while an older connection of its login was open. */
  onReplaced: (externalId: string) => void;
  /** An error that does not belong to one device. */
  onError: (error: unknown) => void;
};

export type EmbeddedBroker = BrokerLink & Pick<MqttServer, 'useCertificate'>;

/** A device that does not read for this long is disconnected: otherwise it would block the others. */
const drainTimeoutMs = 10_000;
const maxConnections = 10_000;
/** From the connection to the log-in. */
const connectTimeoutMs = 10_000;
/** A packet of the largest payload with its topic and header. */
const maxPacketBytes = maxPayloadBytes + 70_000;
/** The list of a gateway's devices, as above. */
const maxGatewayPacketBytes = maxGatewayPayloadBytes + 70_000;
/** What a packet that is no message costs, such as an acknowledgement, and what each of its filters does. */
const controlBytes = 16;
const filterBytes = 64;
/** A gateway sends for many devices. */
const gatewayShare = 8;
/** Sessions that the broker keeps for a login: a device has one, a gateway those of its devices. */
const mostSessions = { small: 4, gateway: 512 } as const;
/** A topic without subscribers: the station has handled the message by then, and no device may receive it. */
const nowhere = '$station/taken';

/** Connected clients, and deadlines of waiting messages. */
type BrokerState = {
  reading: FairReading;
  /** User name of each client's login. */
  names: WeakMap<Client, string>;
  clients: Map<string, Set<Client>>;
  /** When a message for an offline device expires, by payload; monotonic milliseconds. */
  deadlines: WeakMap<object, number>;
  isClosing: boolean;
};

/**
 * The embedded broker (MQTT 3.1 and 3.1.1), for stations without an external one. Devices log in with their external id and token. A message of a
 * device is acknowledged once it is on disk.
 */
export async function startBroker(options: BrokerOptions): Promise<EmbeddedBroker> {
  const { handler, dropped, onError } = options;
  const state: BrokerState = {
    reading: createFairReading(options.clock.monotonic),
    names: new WeakMap(),
    clients: new Map(),
    deadlines: new WeakMap(),
    isClosing: false,
  };
  const sessions = createKeptSessions();
  const logIn = logInRules(options, {
    loggedIn: (client, login, connect) => {
      state.names.set(client, login);
      const most = isSmall(systemOf(options, state, client)) ? mostSessions.small : mostSessions.gateway;
      sessions.enter(client, login, { ...connect, most });
    },
    mayConnect: state.reading.mayConnect,
    // Its earlier login is over.
    loginReplaced: (login) => disconnect(state, login),
  });
  const broker = await createAedes({ ...logIn.options, ...brokerRules(options, state) });
  sessions.bound(broker, (client, topics) => mayRead(options, state, client, topics));
  broker.on('connectionError', logIn.failed);
  // Without a listener an error would end the process, for example when no more files can be opened.
  (broker as EventEmitter).on('error', onError);
  followClients(broker, state, options);
  const onTooLarge = (): void => dropped.drop('too_large', '');
  const onRefused: MqttServerOptions['onRefused'] = (reason, address) =>
    options.refusals.connection(reason, { login: null, clientId: null, protocol: null, address });
  const mostBytesOf = (client: Client): number =>
    isSmall(systemOf(options, state, client)) ? maxPacketBytes : maxGatewayPacketBytes;
  const mayControl: MqttServerOptions['mayControl'] = (client, packet) => {
    const filters = (packet.subscriptions ?? packet.unsubscriptions ?? []).length;
    const bytes = controlBytes + filters * filterBytes;
    const share = isSmall(systemOf(options, state, client)) ? 1 : gatewayShare;
    return state.reading.spend(state.names.get(client) ?? '', bytes / share);
  };
  const bounds = { maxConnections, maxPacketBytes: mostBytesOf, mayControl };
  const listening = { ...options, broker, ...bounds, onTooLarge, onRefused };
  const server = await listenForMqtt(listening).catch(async (error: unknown) => {
    // Its timers would keep the process running.
    await closed(broker);
    throw error;
  });
  handler.onListening(true);
  return {
    addresses: server.addresses,
    useCertificate: server.useCertificate,
    isReady: () => !state.isClosing && server.isListening(),
    isConnected: (login) => isConnected(state, login, null),
    publish: (topic, payload, expiresInMs) =>
      publish({ broker, clock: options.clock }, state, { topic, payload, expiresInMs }),
    disconnect: (externalId) => {
      disconnect(state, externalId);
    },
    forget: sessions.forget,
    [Symbol.asyncDispose]: async () => {
      state.isClosing = true;
      state.reading[Symbol.dispose]();
      handler.onListening(false);
      const ended = server[Symbol.asyncDispose]();
      await closed(broker);
      await ended;
    },
  };
}

function disconnect({ clients }: BrokerState, externalId: string): void {
  for (const client of clients.get(externalId) ?? []) client.close();
}

const closed = (broker: Aedes): Promise<void> => new Promise((resolve) => broker.close(resolve));

/** The rules for subscribe and publish. */
function brokerRules(options: BrokerOptions, state: BrokerState): AedesOptions {
  const { clock } = options;
  const { deadlines } = state;
  return {
    drainTimeout: drainTimeoutMs,
    connectTimeout: connectTimeoutMs,
    authorizeSubscribe: (client, subscription, done) =>
      done(null, mayRead(options, state, client, subscription.topic) ? subscription : null),
    authorizePublish: takePublished(options, state),
    authorizeForward: (client, packet) => {
      // What waits in a session came by subscriptions that nobody has checked, or when its rights were others.
      if (!mayRead(options, state, client, packet.topic)) return null;
      const deadline = typeof packet.payload === 'object' ? deadlines.get(packet.payload) : undefined;
      return deadline !== undefined && deadline < clock.monotonic() ? null : packet;
    },
  };
}

/** Whether a client may read a topic, or every topic of a filter. */
function mayRead(
  { stationId, foreign }: Pick<BrokerOptions, 'stationId' | 'foreign'>,
  state: BrokerState,
  client: Client,
  topics: string,
): boolean {
  const system = systemOf({ foreign }, state, client);
  if (system !== null) return isAllowed(system.rights.mayRead, topics);
  const name = state.names.get(client);
  return name !== undefined && stationTopicEnds.some((end) => topics === deviceTopic(stationId, name, end));
}

/** The broker calls it before it acknowledges, so the acknowledgement waits for the disk. Also called for last wills, after a client closed. */
function takePublished(
  { handler, dropped, foreign }: BrokerOptions,
  state: BrokerState,
): NonNullable<AedesOptions['authorizePublish']> {
  const stops = createReadingStops();
  const whenHandled = createSharedWait<() => void>((all) => {
    for (const done of all) done();
  });
  return (client, packet, done) => {
    const { topic } = packet;
    const payload = Buffer.from(packet.payload);
    // At QoS 1 many devices send again, or give up, when a second passes without the acknowledgement.
    const mayWait = packet.qos === 0;
    packet.topic = nowhere;
    packet.retain = false;
    packet.payload = Buffer.alloc(0);
    // The broker is closing, so these last wills do not mean that devices are offline.
    if (state.isClosing && client?.closed === true) return done();
    const system = systemOf({ foreign }, state, client);
    const parsed = parseDeviceTopic(topic);
    const name = client === null ? undefined : state.names.get(client);
    const isForeign = system === null ? parsed?.externalId !== name : !isAllowed(system.rights.mayPublish, topic);
    if (parsed !== null && isForeign) {
      dropped.drop('foreign_device', topic);
      return done();
    }
    const isWill = client?.closed === true && (system !== null || parsed?.end === 'heartbeat');
    // The last will of an older connection says nothing of a device that has a newer one.
    if (isWill && isConnected(state, name ?? '', system === null ? null : client.id)) return done();
    const handle = (): void => {
      if (isForeign) {
        dropped.drop('bad_topic', topic);
        return done();
      }
      whenHandled(handler.onMessage({ topic, payload, mayWait }), done);
    };
    const bytes = topic.length + payload.length;
    let hasWaited = false;
    const isDue = state.reading.whenDue(name ?? '', isSmall(system) ? bytes : bytes / gatewayShare, () => {
      handle();
      if (hasWaited && client !== null) stops.goOn(client);
    });
    if (isDue || client === null) return;
    hasWaited = true;
    stops.stop(client);
  };
}

/** The other system whose login a client has; null: it is none. */
function systemOf(
  { foreign }: Pick<BrokerOptions, 'foreign'>,
  { names }: BrokerState,
  client: Client | null,
): ReturnType<ForeignDevices['findLogin']> {
  const name = client === null ? undefined : names.get(client);
  return name === undefined ? null : foreign.findLogin(name);
}

const isSmall = (system: ReturnType<ForeignDevices['findLogin']>): boolean =>
  system === null || system.isSmall === true;

const isAllowed = (filters: readonly string[], topics: string): boolean =>
  filters.some((filter) => coversTopics(filter, topics));

/** @param id of the clients that count: a login of another system is of many devices. Null: every client of the login. */
const isConnected = ({ clients }: BrokerState, name: string, id: string | null): boolean =>
  [...(clients.get(name) ?? [])].some((client) => !client.closed && (id === null || client.id === id));

function followClients(
  broker: Aedes,
  { names, clients }: BrokerState,
  { foreign, onReplaced }: Pick<BrokerOptions, 'foreign' | 'onReplaced'>,
): void {
  broker.on('client', (client) => {
    const name = names.get(client) ?? '';
    const others = clients.get(name);
    if (others !== undefined && foreign.findLogin(name) === null) onReplaced(name);
    clients.set(name, (others ?? new Set()).add(client));
  });
  broker.on('clientDisconnect', (client) => {
    const name = names.get(client) ?? '';
    const others = clients.get(name);
    others?.delete(client);
    if (others?.size === 0) clients.delete(name);
  });
}

function publish(
  { broker, clock }: { broker: Aedes; clock: Pick<Clock, 'monotonic'> },
  { deadlines, isClosing }: BrokerState,
  { topic, payload, expiresInMs }: { topic: string; payload: string; expiresInMs: number | null },
): Promise<void> {
  const buffer = Buffer.from(payload);
  if (expiresInMs !== null) deadlines.set(buffer, clock.monotonic() + expiresInMs);
  return new Promise((resolve, reject) => {
    if (isClosing) return reject(new Error('The broker is closing'));
    const retain = expiresInMs === null;
    const packet = { cmd: 'publish', topic, payload: buffer, qos: 1, retain, dup: false } as const;
    broker.publish(packet, (error) => (error ? reject(error) : resolve()));
  });
}
