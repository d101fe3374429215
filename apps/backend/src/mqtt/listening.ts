import { randomUUID } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { GatewayBroker } from '../core/foreign-devices-port.ts';
import { type BrokerAccess, followVersion, openMqttClient } from './adapters/mqtt-client.ts';

/** Long enough for a second attempt, by MQTT 3.1.1. */
const listenMs = 3_000;
/** Words such as `online`; the broker leaves out what is larger. */
const largestPacket = 4_096;

/**
 * Listens for a moment at an external broker, with the station's login: by a connection of its own, because some brokers end the connection of who
 * subscribes to what they do not allow. Disposing ends it.
 */
export function createListening(
  parts: BrokerAccess & { stationId: string; clock: Pick<Clock, 'sleep'> },
): AsyncDisposable & Pick<GatewayBroker, 'listen'> {
  const { stationId, clock } = parts;
  const ending = new AbortController();
  const open = new Set<Promise<void>>();
  const run: (...what: Parameters<GatewayBroker['listen']>) => Promise<void> = async (filters, onMessage) => {
    const client = openMqttClient(parts, {
      clientId: `station-${stationId}-listening-${randomUUID().slice(0, 8)}`,
      clean: true,
      properties: { maximumPacketSize: largestPacket },
    });
    client.on('connect', () => {
      // A broker that refuses is one where nothing is heard.
      client.subscribeAsync([...filters], { qos: 0 }).catch(() => undefined);
    });
    // What fails is in the log already: the station's own connection has failed, too.
    client.on('error', (error) => followVersion(client, error));
    client.on('message', (topic, payload, { retain }) => onMessage({ topic, payload, isRetained: retain }));
    await clock.sleep(listenMs, ending.signal).catch(() => undefined);
    await client.endAsync(true);
  };
  return {
    listen: (...what) => {
      const running = run(...what).finally(() => open.delete(running));
      open.add(running);
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await Promise.all(open);
    },
  };
}
