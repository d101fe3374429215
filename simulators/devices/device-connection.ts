import { connect, type MqttClient } from 'mqtt';
import { deviceTopic, type DeviceTopicEnd } from '@station/protocol/topics';
import type { Profile } from './profiles.ts';

/** A device's MQTT connection, which reconnects automatically while it is open. */
export type DeviceConnection = {
  client: MqttClient;
  counts: { sent: number; acknowledged: number };
  /** Connects now, and again whenever the connection breaks. */
  open(): void;
  /** Disconnects as in a power cut: the broker publishes the last will. It stays closed until it is opened again. */
  close(): Promise<void>;
  /**
   * Publishes with the QoS of the profile. @returns whether the message was sent: at QoS 1 the broker acknowledged it, at QoS 0 it only left
   * the device. A device that is offline sends nothing and keeps nothing.
   */
  publish(end: DeviceTopicEnd, body: object): Promise<boolean>;
};

type ReceivedFrom = 'handshake/ack' | 'command';

export function createConnection(options: {
  url: string;
  stationId: string;
  login: { externalId: string; token: string };
  profile: Profile;
  random: () => number;
  onConnected: () => void;
  onMessage: (end: ReceivedFrom, body: Record<string, unknown>) => void;
  onClosed: () => void;
}): DeviceConnection {
  const { stationId, login, profile } = options;
  const { qos } = profile;
  const topic = (end: DeviceTopicEnd | ReceivedFrom): string => deviceTopic(stationId, login.externalId, end);
  const counts = { sent: 0, acknowledged: 0 };
  let isOpened = false;
  const reconnectPeriod = Math.round(profile.reconnectMs * (1 + options.random()));
  const close = async (): Promise<void> => {
    // A stream that closes late would start the client's own reconnection: two connections would then end each other for good.
    client.options.reconnectPeriod = 0;
    // A client that was never opened has nothing to end.
    if (isOpened) await client.endAsync(true);
  };
  const client = connect(options.url, {
    clientId: login.externalId,
    username: login.externalId,
    password: login.token,
    clean: true,
    keepalive: profile.keepaliveSeconds,
    reconnectPeriod,
    reconnectOnConnackError: true,
    queueQoSZero: false,
    manualConnect: true,
    will: {
      topic: topic('heartbeat'),
      payload: Buffer.from('{"status":"offline"}'),
      qos,
      retain: profile.isWillRetained,
    },
  });
  client.on('connect', () => {
    client.subscribe([topic('handshake/ack'), topic('command')], { qos }, options.onConnected);
  });
  client.on('message', (name, payload) => {
    if (Buffer.byteLength(name) + payload.length + packetHeaderBytes > profile.receiveBytes) return;
    options.onMessage(name === topic('command') ? 'command' : 'handshake/ack', readObject(payload));
  });
  client.on('close', options.onClosed);
  // The client reconnects automatically.
  client.on('error', () => undefined);
  return {
    client,
    counts,
    open: () => {
      isOpened = true;
      client.options.reconnectPeriod = reconnectPeriod;
      client.reconnect();
    },
    close,
    publish: (end, body) => {
      // Unsent states are not queued; the next state replaces them.
      if (!client.connected) return Promise.resolve(false);
      counts.sent += 1;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      client.publish(topic(end), JSON.stringify(body), { qos }, (error) => {
        if (!error) counts.acknowledged += 1;
        resolve(!error);
      });
      return promise;
    },
  };
}

/** Fixed header with a remaining length of two bytes, and the length of the topic (MQTT 3.1.1, section 3.3). */
const packetHeaderBytes = 5;

function readObject(payload: Buffer): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(payload.toString('utf8'));
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
