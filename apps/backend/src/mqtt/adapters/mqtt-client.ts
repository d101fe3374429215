import type { Socket } from 'node:net';
import { connect, type IClientOptions, type MqttClient, Store } from 'mqtt';
import { writeToStream } from 'mqtt-packet';
import { after } from '@station/kit/timers';
import { brokerAddress } from '../../core/adapters/broker-address.ts';

/** Where an external broker is, and how the station logs in there. */
export type BrokerAccess = {
  /** `mqtt://` or `mqtts://`; its login is used when `username` and `password` are null. */
  url: string;
  username: string | null;
  password: string | null;
  /** Certificates (PEM) of the authorities for an `mqtts://` broker; null: Node's default list. */
  authority: string | null;
};

const reconnectMs = 1_000;
const connectTimeoutMs = 10_000;
/** CONNACK codes of a broker that only supports MQTT 3.1.1 (its section 3.2.2.3), and the code of MQTT 5. */
const wrongVersion: readonly unknown[] = [1, 0x84];

/**
 * Opens a client of an external broker, which connects again whenever the connection ends, by MQTT 5. It sends a message immediately or never: it keeps none for later.
 */
export function openMqttClient(
  { url, username, password, authority }: BrokerAccess,
  options: Pick<IClientOptions, 'clientId' | 'clean' | 'properties' | 'will'>,
): MqttClient {
  // The number cache would take 8 MB of memory, as in the embedded broker.
  writeToStream.cacheNumbers = false;
  const client = connect({
    protocolVersion: 5,
    ...options,
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(authority === null ? {} : { ca: authority }),
    reconnectPeriod: reconnectMs,
    // Also after a refused login, or last will: the broker may get the login, or the right, a moment later.
    reconnectOnConnackError: true,
    connectTimeout: connectTimeoutMs,
    queueQoSZero: false,
    resubscribe: false,
    keepalive: 30,
    outgoingStore: new NothingKept(),
    ...brokerAddress(url),
  });
  client.on('connect', () => sendAtOnce(client));
  return client;
}

/** The next attempt is by MQTT 3.1.1 when the broker said that it supports nothing newer. */
export function followVersion({ options }: MqttClient, error: Error): void {
  if (!('code' in error) || !wrongVersion.includes(error.code)) return;
  options.protocolVersion = 4;
  delete options.properties;
}

/** The backend ends within 5 s. */
const endTimeoutMs = 1_000;

/**
 * Ends a connection with a DISCONNECT, after which the broker publishes no last will; one that hangs gets none. The library would wait without an
 * end for acknowledgements that do not come, also when the connection has ended.
 */
export async function endMqttClient(
  client: MqttClient,
  options: Parameters<MqttClient['endAsync']>[1] = {},
): Promise<void> {
  if (!client.connected) return client.endAsync(true);
  const closed = new Promise<void>((resolve) => client.once('close', resolve));
  using _late = after(endTimeoutMs, () => client.stream.destroy());
  await Promise.race([client.endAsync(false, options), closed]);
}

/** A real store would make the library resend unacknowledged messages, however late. */
class NothingKept extends Store {
  override put(_packet: Parameters<Store['put']>[0], done: Parameters<Store['put']>[1]): this {
    done();
    return this;
  }
  override del(packet: Parameters<Store['del']>[0], done: Parameters<Store['del']>[1]): this {
    done(undefined, { ...packet, cmd: 'publish' } as Parameters<typeof done>[1]);
    return this;
  }
}

/** Without it a command waits up to 40 ms until the broker's TCP acknowledges the packet before (RFC 896). */
function sendAtOnce({ stream }: MqttClient): void {
  // A WebSocket sets it itself.
  const socket = stream as Partial<Pick<Socket, 'setNoDelay'>>;
  socket.setNoDelay?.(true);
}
