import { deviceTopic } from '@station/protocol/topics';

/** Whether a device is connected, by who subscribed to its topics. `unknown`: the broker does not tell. */
export type Presence = 'present' | 'absent' | 'unknown';

/** PUBACK reason code "No matching subscribers" (MQTT 5, section 3.4.2.1), which a broker need not use. */
export const nobody = 0x10;
const expiresInMs = 10_000;

/**
 * Publishes at QoS 1. @param expiresInMs null: the broker keeps it (retained).
 * @returns the reason code of the broker's PUBACK; 0 from MQTT 3.1.1. @throws (rejects) as a link's `publish`.
 */
export type PublishForCode = (topic: string, payload: string, expiresInMs: number | null) => Promise<number>;

export type Listeners = {
  publish: PublishForCode;
  /** Sends the device an answer to its handshake, which changes nothing for it. Never rejects. */
  presenceOf(externalId: string): Promise<Presence>;
};

/** Asks an external broker for the connection of a device. Mosquitto 2.0 lists no connections, but says when nobody receives a message. */
export function createListeners(options: { stationId: string; publish: PublishForCode }): Listeners {
  const { stationId } = options;
  /** Topics that somebody received from: their devices subscribe, so that nobody there means nobody is connected. */
  const heard = new Set<string>();
  const publish: PublishForCode = async (...message) => {
    const code = await options.publish(...message);
    if (code === 0) heard.add(message[0]);
    return code;
  };
  const ask = async (externalId: string): Promise<Presence> => {
    // Somebody who reads along everywhere, and a broker that does not use the code, answer for everybody.
    if ((await options.publish(`station/${stationId}/nobody`, '', expiresInMs)) !== nobody) return 'unknown';
    const topic = deviceTopic(stationId, externalId, 'handshake/ack');
    const isSubscriber = heard.has(topic);
    const code = await publish(topic, '{"status":"ok"}', expiresInMs);
    if (code === nobody) return isSubscriber ? 'absent' : 'unknown';
    return code === 0 ? 'present' : 'unknown';
  };
  return { publish, presenceOf: (externalId) => ask(externalId).catch(() => 'unknown') };
}
