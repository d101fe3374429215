import { connect, type MqttClient } from 'mqtt';
import { deviceTopic } from '@station/protocol/topics';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';

/** A device that says numbers, one after another: as an event, which is kept, and as a state, of which the latest is. */
export type NumberedDevice = AsyncDisposable & {
  externalId: string;
  client: MqttClient;
  /** Numbers of the events that the broker has acknowledged (PUBACK). */
  acknowledged: ReadonlySet<number>;
  /** The highest number of a state that it has acknowledged; -1: none. */
  acknowledgedState(): number;
  /** Said and not yet acknowledged. */
  underWay(): number;
  /** It may say so many numbers more. */
  allow(count: number): void;
  /** Says nothing new from now on; resolves when all it said is acknowledged. */
  finish(): Promise<void>;
};

const windowSize = 20;
const reconnectMs = 50;

/** Has so many messages at QoS 1 under way while it may say something; after a broken connection it says those that were not acknowledged again, as MQTT wants. */
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
  let [next, end, underWay, lastState, isEnding] = [0, 0, 0, -1, false];
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
    // What is said without a connection would wait in this process: that is no load.
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
