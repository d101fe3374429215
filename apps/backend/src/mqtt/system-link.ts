import { randomUUID } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { passingMs, type SystemLink, type SystemLinkOptions } from '../core/foreign-devices-port.ts';
import { type BrokerAccess, endMqttClient, followVersion, openMqttClient } from './adapters/mqtt-client.ts';
import { nobody } from './listeners.ts';
import { createPublisher } from './publisher.ts';

type SystemLinkParts = SystemLinkOptions & BrokerAccess & { stationId: string; clock: Pick<Clock, 'monotonic'> };

/**
 * A connection of its own to an external broker, with the station's login: a connection has one last will, and what another system reads must not
 * wait for what devices are told, nor the other way round.
 */
export function connectSystemLink(parts: SystemLinkParts): SystemLink {
  const { stationId, login, rights, will, onConnected, onMessage, clock } = parts;
  const client = openMqttClient(parts, {
    clientId: `station-${stationId}-${login}-${randomUUID().slice(0, 8)}`,
    clean: true,
    will: { ...will, qos: 1, retain: true },
  });
  const publish = createPublisher(client, clock);
  let isHeard: boolean | null = null;
  client.on('connect', () => {
    // What is retained there is no command of now (`rh: 2`, MQTT 5, section 3.8.3.1).
    client.subscribeAsync([...rights.mayPublish], { qos: 1, rh: 2 }).then(onConnected, () => undefined);
  });
  client.on('close', () => (isHeard = null));
  // What fails is in the log already: the station's own connection has failed, too.
  client.on('error', (error) => followVersion(client, error));
  client.on('message', (topic, payload, { retain }) => onMessage({ topic, payload, isRetained: retain }));
  return {
    publish: async (topic, payload, isRetained) => {
      const code = await publish(topic, payload, isRetained ? null : passingMs);
      // MQTT 3.1.1 has no such code.
      isHeard = client.options.protocolVersion === 5 ? code !== nobody : null;
    },
    isHeard: () => isHeard,
    // The broker would publish the will, which would stay there.
    [Symbol.asyncDispose]: () => endMqttClient(client),
  };
}
