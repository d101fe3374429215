import type { MqttClient } from 'mqtt';
import type { Clock } from '@station/kit/clock';
import { after } from '@station/kit/timers';
import { UnansweredError } from '../core/commands.ts';
import type { PublishForCode } from './listeners.ts';

const timeoutMs = 5_000;
const maxWaiting = 1_000;

/**
 * Publishes at QoS 1; with an expiry not retained, without one retained. After a reconnect it sends an unacknowledged message again, with the rest of its expiry.
 * A message that failed is never sent later.
 * @returns the reason code of the broker's PUBACK: 0, or above 0 when nobody receives it (MQTT 5, section 3.4.2.1).
 * @throws (rejects) when the broker is offline or refuses; UnansweredError when the message was sent and no answer came in time.
 * @param client keeps no message for later.
 */
export function createPublisher(client: MqttClient, clock: Pick<Clock, 'monotonic'>): PublishForCode {
  const send = createSender(client);
  let waiting = 0;
  let back = Promise.withResolvers<void>();
  client.on('connect', () => {
    back.resolve();
    back = Promise.withResolvers();
  });
  return async (topic, payload, expiresInMs) => {
    if (!client.connected || waiting >= maxWaiting) throw offline();
    const startedMs = clock.monotonic();
    const late = Promise.withResolvers<never>();
    late.promise.catch(() => undefined);
    let isLate = false;
    /** Sent on a connection that ended without an answer. */
    let mayHaveArrived = false;
    const giveUp = (): void => {
      isLate = true;
      late.reject(new UnansweredError());
    };
    using _timer = after(Math.min(timeoutMs, expiresInMs ?? timeoutMs), giveUp);
    waiting += 1;
    try {
      while (!client.disconnecting) {
        const leftMs = expiresInMs === null ? null : expiresInMs - (clock.monotonic() - startedMs);
        const sent = send(topic, payload, leftMs);
        try {
          await Promise.race([sent.acknowledged, late.promise]);
          return sent.code();
        } catch (error) {
          if (isLate) throw error;
          if (client.connected) throw mayHaveArrived ? new UnansweredError() : error;
          mayHaveArrived = true;
          if (client.disconnecting) break;
        } finally {
          sent.forget();
        }
        await Promise.race([back.promise, late.promise]);
      }
      throw mayHaveArrived ? new UnansweredError() : offline();
    } finally {
      waiting -= 1;
    }
  };
}

/** Sends once, and knows the answer until it is forgotten. */
function createSender(client: MqttClient) {
  const unconfirmed = new Set<number>();
  /** Reason codes of PUBACKs: the library tells only those of failures. */
  const codes = new Map<number, number>();
  client.on('packetreceive', (packet) => {
    if (packet.cmd !== 'puback' || packet.messageId === undefined) return;
    if (unconfirmed.has(packet.messageId)) codes.set(packet.messageId, packet.reasonCode ?? 0);
  });
  client.on('close', () => {
    // Their answers will not arrive any more.
    for (const id of [...unconfirmed]) client.removeOutgoingMessage(id);
  });
  return (topic: string, payload: string, expiresInMs: number | null) => {
    const isExpiring = expiresInMs !== null && client.options.protocolVersion === 5;
    const properties = { messageExpiryInterval: Math.max(1, Math.ceil((expiresInMs ?? 0) / 1000)) };
    const options = { qos: 1, retain: expiresInMs === null, ...(isExpiring ? { properties } : {}) } as const;
    const acknowledged = client.publishAsync(topic, payload, options);
    const id = client.getLastMessageId();
    unconfirmed.add(id);
    const forget = (): void => {
      unconfirmed.delete(id);
      codes.delete(id);
      client.removeOutgoingMessage(id);
    };
    acknowledged.catch(() => undefined);
    return { acknowledged, code: () => codes.get(id) ?? 0, forget };
  };
}

const offline = (): Error => new Error('The broker is offline');
