import { timingSafeEqual } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { Aedes, type AedesOptions, type AuthenticateError, type Client } from 'aedes';
import { writeToStream } from 'mqtt-packet';
import { deviceTopic, maxPayloadBytes, parseDeviceTopic, stationTopicEnds } from '@station/protocol/topics';
import { hashToken } from '../core/secrets.ts';
import { listenForMqtt } from '../adapters/mqtt-server.ts';
import { createSharedWait } from './shared-wait.ts';
import type { BrokerLink, BrokerLinkHandler } from './broker-link.ts';
import type { DroppedMessages } from './dropped-messages.ts';

export type BrokerOptions = {
  host: string;
  /** 0 takes a free one. */
  port: number;
  stationId: string;
  /** @returns SHA-256 (hex) of the token of the device with this external id. */
  findTokenHash: (externalId: string) => Promise<string | null>;
  handler: BrokerLinkHandler;
  dropped: DroppedMessages;
  onRefused: (externalId: string) => void;
  /** Something failed that concerns no single device. */
  onError: (error: unknown) => void;
};

/** A device that does not read for so long is disconnected: else it would hold up the others. */
const drainTimeoutMs = 10_000;
const maxConnections = 10_000;
/** A packet of the largest payload with its topic and header. */
const maxPacketBytes = maxPayloadBytes + 70_000;
/** CONNECT return code 4 (MQTT 3.1.1, section 3.2.2.3): bad user name or password. */
const badLogin = 4;
/** Where nobody listens: what a device publishes is for the station alone, and has been handed over by then. */
const nowhere = '$station/taken';

/** Who is connected, and what waits for whom. */
type BrokerState = {
  /** By client: who it has logged in as. */
  names: WeakMap<Client, string>;
  clients: Map<string, Set<Client>>;
  /** When what waits for an offline device is not worth sending any more, by payload; monotonic milliseconds. */
  deadlines: WeakMap<object, number>;
  isClosing: boolean;
};

/**
 * The broker inside the backend (MQTT 3.1.1), for stations without another. Devices log in with their external id and token; what one
 * publishes is acknowledged when the station has it on disk.
 */
export async function startBroker(options: BrokerOptions): Promise<BrokerLink> {
  const { handler, dropped, onError } = options;
  const state: BrokerState = { names: new WeakMap(), clients: new Map(), deadlines: new WeakMap(), isClosing: false };
  // Else it makes the two bytes of every number there is beforehand: 8 MB of them.
  writeToStream.cacheNumbers = false;
  const broker = await Aedes.createBroker(brokerRules(options, state));
  // Without a listener either of them would end the process: when no more files can be opened, for one.
  (broker as EventEmitter).on('error', onError);
  followClients(broker, state);
  const onTooLarge = (): void => dropped.drop('too_large', '');
  const listening = { ...options, broker, maxConnections, maxPacketBytes, onTooLarge };
  const server = await listenForMqtt(listening).catch(async (error: unknown) => {
    // Its timers would keep the process.
    await closed(broker);
    throw error;
  });
  handler.onListening(true);
  return {
    address: server.address,
    isReady: () => !state.isClosing && server.isListening(),
    publish: (topic, payload, expiresInMs) => publish(broker, state, { topic, payload, expiresInMs }),
    disconnect: (externalId) => {
      for (const client of state.clients.get(externalId) ?? []) client.close();
    },
    [Symbol.asyncDispose]: async () => {
      state.isClosing = true;
      handler.onListening(false);
      const ended = server[Symbol.asyncDispose]();
      await closed(broker);
      await ended;
    },
  };
}

const closed = (broker: Aedes): Promise<void> => new Promise((resolve) => broker.close(resolve));

/** Who may connect, subscribe, publish. */
function brokerRules(options: BrokerOptions, state: BrokerState): AedesOptions {
  const { stationId } = options;
  const { names, deadlines } = state;
  return {
    drainTimeout: drainTimeoutMs,
    // A device's session is its own, whatever client id another one chooses.
    preConnect: (_client, packet, done) => {
      packet.clientId = `${packet.username ?? ''}/${packet.clientId}`;
      done(null, true);
    },
    authenticate: (client, username, password, done) => {
      mayLogIn(options, username, password).then(
        (isAllowed) => {
          if (isAllowed) names.set(client, username ?? '');
          else options.onRefused(username ?? '');
          done(isAllowed ? null : loginError(), isAllowed);
        },
        () => done(loginError(), false),
      );
    },
    authorizeSubscribe: (client, subscription, done) => {
      const name = names.get(client);
      const isOwn = stationTopicEnds.some(
        (end) => name !== undefined && subscription.topic === deviceTopic(stationId, name, end),
      );
      done(null, isOwn ? subscription : null);
    },
    authorizePublish: takePublished(options, state),
    authorizeForward: (_client, packet) => {
      const deadline = typeof packet.payload === 'object' ? deadlines.get(packet.payload) : undefined;
      return deadline !== undefined && deadline < performance.now() ? null : packet;
    },
  };
}

/** Called before the acknowledgement, which therefore waits for the disk; and for last wills, after their client has closed. */
function takePublished(
  { handler, dropped }: BrokerOptions,
  state: BrokerState,
): NonNullable<AedesOptions['authorizePublish']> {
  const whenHandled = createSharedWait<() => void>((all) => {
    for (const done of all) done();
  });
  return (client, packet, done) => {
    const { topic } = packet;
    const payload = Buffer.from(packet.payload);
    packet.topic = nowhere;
    packet.retain = false;
    packet.payload = Buffer.alloc(0);
    // The broker goes, not the devices: that says nothing about them.
    if (state.isClosing && client?.closed === true) return done();
    const parsed = parseDeviceTopic(topic);
    const name = client === null ? undefined : state.names.get(client);
    if (parsed !== null && parsed.externalId !== name) {
      dropped.drop('foreign_device', topic);
      return done();
    }
    whenHandled(handler.onMessage({ topic, payload }), done);
  };
}

function followClients(broker: Aedes, { names, clients }: BrokerState): void {
  broker.on('client', (client) => {
    const name = names.get(client) ?? '';
    clients.set(name, (clients.get(name) ?? new Set()).add(client));
  });
  broker.on('clientDisconnect', (client) => {
    const name = names.get(client) ?? '';
    const others = clients.get(name);
    others?.delete(client);
    if (others?.size === 0) clients.delete(name);
  });
}

function publish(
  broker: Aedes,
  { deadlines, isClosing }: BrokerState,
  { topic, payload, expiresInMs }: { topic: string; payload: string; expiresInMs: number },
): Promise<void> {
  const buffer = Buffer.from(payload);
  deadlines.set(buffer, performance.now() + expiresInMs);
  return new Promise((resolve, reject) => {
    if (isClosing) return reject(new Error('The broker is closing'));
    const packet = { cmd: 'publish', topic, payload: buffer, qos: 1, retain: false, dup: false } as const;
    broker.publish(packet, (error) => (error ? reject(error) : resolve()));
  });
}

async function mayLogIn(
  { findTokenHash }: BrokerOptions,
  username: string | undefined,
  password: Buffer | undefined,
): Promise<boolean> {
  if (username === undefined || password === undefined) return false;
  const expected = await findTokenHash(username);
  if (expected === null) return false;
  return timingSafeEqual(Buffer.from(expected), Buffer.from(hashToken(password.toString('utf8'))));
}

function loginError(): AuthenticateError {
  return Object.assign(new Error('The login is not known'), { returnCode: badLogin });
}
