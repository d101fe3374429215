import { Store, type MqttClient } from 'mqtt';
import { UnansweredError } from '../core/commands.ts';

/**
 * Publishes at QoS 1, not retained. What the broker did not acknowledge when the connection ended is sent again if it is back in time, with
 * what is left of its expiry; what has failed is never sent afterwards.
 * @throws (rejects) when the broker is away or refuses; UnansweredError when it was given the message and did not answer in time.
 */
export type Publish = (topic: string, payload: string, expiresInMs: number) => Promise<void>;

const timeoutMs = 5_000;
const maxWaiting = 1_000;

/** For the client's `outgoingStore`: from a store the library sends again whatever the broker did not acknowledge, however late that is. */
export class NothingKept extends Store {
  override put(...[, done]: Parameters<Store['put']>): this {
    done();
    return this;
  }
  override del(...[packet, done]: Parameters<Store['del']>): this {
    done(undefined, { ...packet, cmd: 'publish' } as Parameters<typeof done>[1]);
    return this;
  }
}

/** @param client has {@link NothingKept} for its outgoing store, so that each message is handed to the connection at once or not at all. */
export function createPublisher(client: MqttClient): Publish {
  const unconfirmed = new Set<number>();
  let waiting = 0;
  let back = Promise.withResolvers<void>();
  client.on('connect', () => {
    back.resolve();
    back = Promise.withResolvers();
  });
  client.on('close', () => {
    // Their answers do not come any more.
    for (const id of [...unconfirmed]) client.removeOutgoingMessage(id);
  });

  const send = (topic: string, payload: string, expiresInMs: number) => {
    const properties = { messageExpiryInterval: Math.max(1, Math.ceil(expiresInMs / 1000)) };
    const isVersion5 = client.options.protocolVersion === 5;
    const acknowledged = client.publishAsync(topic, payload, { qos: 1, ...(isVersion5 ? { properties } : {}) });
    const id = client.getLastMessageId();
    unconfirmed.add(id);
    const forget = (): void => {
      unconfirmed.delete(id);
      client.removeOutgoingMessage(id);
    };
    acknowledged.catch(() => undefined);
    return { acknowledged, forget };
  };

  return async (topic, payload, expiresInMs) => {
    if (!client.connected || waiting >= maxWaiting) throw away();
    const startedMs = performance.now();
    const late = Promise.withResolvers<never>();
    late.promise.catch(() => undefined);
    let isLate = false;
    /** Given to a connection that ended without an answer. */
    let mayHaveArrived = false;
    const giveUp = (): void => {
      isLate = true;
      late.reject(new UnansweredError());
    };
    const timer = setTimeout(giveUp, Math.min(timeoutMs, expiresInMs));
    waiting += 1;
    try {
      while (!client.disconnecting) {
        const sent = send(topic, payload, expiresInMs - (performance.now() - startedMs));
        try {
          await Promise.race([sent.acknowledged, late.promise]);
          return;
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
      throw mayHaveArrived ? new UnansweredError() : away();
    } finally {
      waiting -= 1;
      clearTimeout(timer);
    }
  };
}

const away = (): Error => new Error('The broker is away');
