// A program: an MQTT client that receives every state at QoS 1 and only counts. It is controlled over its channel (see
// `pinned.ts`).
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { maxPayloadBytes, subscriptions } from '@station/protocol/topics';
import { answerRequests, monotonicMs } from './pinned.ts';

export type CountRequest =
  /**
   * @param asBridge uses the protocol, session and limits of the backend's bridge, so that the broker does the same
   * work for both.
   */
  | { kind: 'connect'; url: string; username: string | null; password: string | null; asBridge: boolean }
  /** @returns {number} the monotonic millisecond at which `count` more messages had arrived since the last request. */
  | { kind: 'count'; count: number };

/** Same as `clientOptions` in apps/backend/src/mqtt/broker-client.ts. */
const bridgeSettings: IClientOptions = {
  protocolVersion: 5,
  clean: false,
  properties: {
    sessionExpiryInterval: 14 * 24 * 60 * 60,
    receiveMaximum: 5_000,
    maximumPacketSize: maxPayloadBytes + 70_000,
  },
};

let client: MqttClient | undefined;
let received = 0;
let wanted = { count: Infinity, resolve: (_ms: number): void => undefined };

answerRequests<CountRequest>(async (body) => {
  if (body.kind === 'connect') {
    const { url, username, password, asBridge } = body;
    const login = username === null ? {} : { username, password: password ?? '' };
    const settings: IClientOptions = asBridge ? bridgeSettings : { protocolVersion: 4, clean: true };
    client = await connectAsync(url, { clientId: 'counter', ...settings, ...login });
    client.on('message', () => {
      received += 1;
      if (received < wanted.count) return;
      received -= wanted.count;
      wanted.resolve(monotonicMs());
      wanted = { count: Infinity, resolve: () => undefined };
    });
    await client.subscribeAsync([...subscriptions], { qos: 1, rh: 2 });
    return null;
  }
  return new Promise<number>((resolve) => (wanted = { count: body.count, resolve }));
});
