// A program: an MQTT client that takes every state at QoS 1 and only counts it. Asked over its channel (see `pinned.ts`).
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { maxPayloadBytes, subscriptions } from '@station/protocol/topics';
import { answerRequests, monotonicMs } from './pinned.ts';

export type CountRequest =
  /** @param asBridge with the protocol, session and limits of the backend's bridge, so that the broker has the same to do for both. */
  | { kind: 'connect'; url: string; username: string | null; password: string | null; asBridge: boolean }
  /** @returns {number} monotonic milliseconds at which so many more had come since the last one was asked for. */
  | { kind: 'count'; count: number };

/** As `clientOptions` in apps/backend/src/mqtt/broker-client.ts. */
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
let come = 0;
let wanted = { count: Infinity, resolve: (_ms: number): void => undefined };

answerRequests<CountRequest>(async (body) => {
  if (body.kind === 'connect') {
    const { url, username, password, asBridge } = body;
    const login = username === null ? {} : { username, password: password ?? '' };
    const settings: IClientOptions = asBridge ? bridgeSettings : { protocolVersion: 4, clean: true };
    client = await connectAsync(url, { clientId: 'counter', ...settings, ...login });
    client.on('message', () => {
      come += 1;
      if (come < wanted.count) return;
      come -= wanted.count;
      wanted.resolve(monotonicMs());
      wanted = { count: Infinity, resolve: () => undefined };
    });
    await client.subscribeAsync([...subscriptions], { qos: 1, rh: 2 });
    return null;
  }
  return new Promise<number>((resolve) => (wanted = { count: body.count, resolve }));
});
