import { connect, type MqttClient } from 'mqtt';
import { deviceTopic } from '@station/protocol/topics';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';

/** A device that sends increasing numbers: as events, which are all stored, and as state, of which only the latest is. */
export type NumberedDevice = AsyncDisposable & {
  externalId: string;
  client: MqttClient;
  /** Numbers of the events that the broker has acknowledged (PUBACK). */
  acknowledged: ReadonlySet<number>;
  /** The highest number of a state that it has acknowledged; -1: none. */
  acknowledgedState(): number;
  /** Sent and not yet acknowledged. */
  underWay(): number;
  /** Allows it to send this many more numbers. */
  allow(count: number): void;
  /** Stops sending new numbers; resolves when all sent ones are acknowledged. */
  finish(): Promise<void>;
};

const windowSize = 20;
const reconnectMs = 50;

/** Messages at QoS 1 in flight at the same time; after a broken connection it repeats the unacknowledged ones, as MQTT requires. */
export function startNumberedDevice(url: string, stationId: string, login: DeviceLogin): NumberedDevice {
  const { externalId, token } = login;
  const client = connect(url, {
    clientId: externalId,
    username: externalId,
    password: token,
    clean: false,
    reconnectPeriod: reconnectMs,
    reconnectOnConnackError: true,
  });
  client.on('error', () => undefined);
  const acknowledged = new Set<number>();
  let next = 0;
  let end = 0;
  let underWay = 0;
  let lastState = -1;
  let isEnding = false;
  const finished = Promise.withResolvers<void>();

  const say = (kind: 'event' | 'state', body: object, onAcknowledged: () => void): void => {
    underWay += 1;
    client.publish(deviceTopic(stationId, externalId, kind), JSON.stringify(body), { qos: 1 }, (error) => {
      underWay -= 1;
      if (!error) onAcknowledged();
      if (isEnding && underWay === 0) finished.resolve();
      fill();
    });
  };
  const fill = (): void => {
    // Messages sent without a connection would only queue in this process, which is no load.
    while (next < end && !isEnding && client.connected && underWay < windowSize) {
      const n = next++;
      say('event', { event: 'device_event', data: { action: 'counted', n } }, () => acknowledged.add(n));
      say('state', { state: { n } }, () => (lastState = Math.max(lastState, n)));
    }
  };
  client.on('connect', fill);
  return {
    externalId,
    client,
    acknowledged,
    acknowledgedState: () => lastState,
    underWay: () => underWay,
    allow: (count) => {
      end = next + count;
      fill();
    },
    finish: () => {
      isEnding = true;
      if (underWay === 0) finished.resolve();
      return finished.promise;
    },
    [Symbol.asyncDispose]: () => {
      isEnding = true;
      return client.endAsync(true);
    },
  };
}
