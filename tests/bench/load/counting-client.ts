// A program: an MQTT client that takes every state at QoS 1 and only counts it. Asked over its channel (see `pinned.ts`).
import { connectAsync, type MqttClient } from 'mqtt';
import { answerRequests, monotonicMs } from './pinned.ts';

export type CountRequest =
  | { kind: 'connect'; url: string; username: string | null; password: string | null }
  /** @returns {number} monotonic milliseconds at which so many more had come since the last one was asked for. */
  | { kind: 'count'; count: number };

let client: MqttClient | undefined;
let come = 0;
let wanted = { count: Infinity, resolve: (_ms: number): void => undefined };

answerRequests<CountRequest>(async (body) => {
  if (body.kind === 'connect') {
    const { url, username, password } = body;
    const login = username === null ? {} : { username, password: password ?? '' };
    client = await connectAsync(url, { clientId: 'counter', clean: true, protocolVersion: 4, ...login });
    client.on('message', () => {
      come += 1;
      if (come < wanted.count) return;
      come -= wanted.count;
      wanted.resolve(monotonicMs());
      wanted = { count: Infinity, resolve: () => undefined };
    });
    await client.subscribeAsync('station/+/device/+/state', { qos: 1 });
    return null;
  }
  return new Promise<number>((resolve) => (wanted = { count: body.count, resolve }));
});
