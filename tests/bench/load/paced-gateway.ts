// A program: a Zigbee2MQTT whose devices report at a steady rate, each with its time of sending. It is controlled over its channel.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type SimulatedZigbee2Mqtt,
  type SimulatedZigbeeDevice,
  startZigbee2Mqtt,
} from '@station/backend/testing/simulated-zigbee2mqtt';
import { answerRequests, monotonicMs } from './pinned.ts';
import { stampNow } from './stamps.ts';

export type GatewayRequest =
  | { kind: 'connect'; url: string; login: { username: string; password: string } }
  | { kind: 'announce'; devices: SimulatedZigbeeDevice[] }
  /** The devices take turns. */
  | { kind: 'send'; perSecond: number; seconds: number };

let bridge: SimulatedZigbee2Mqtt;

answerRequests<GatewayRequest>(async (body) => {
  switch (body.kind) {
    case 'connect':
      bridge = await startZigbee2Mqtt(body.url, body.login, []);
      return;
    case 'announce':
      bridge.devices.push(...body.devices);
      return bridge.announce();
    case 'send':
      return sendPaced(body);
  }
});

async function sendPaced({ perSecond, seconds }: GatewayRequest & { kind: 'send' }): Promise<void> {
  const startedMs = monotonicMs();
  const total = perSecond * seconds;
  for (let sent = 0; sent < total; await sleep(1)) {
    const due = Math.min(total, Math.floor(((monotonicMs() - startedMs) * perSecond) / 1_000));
    for (; sent < due; sent++) {
      const { entry } = bridge.devices[sent % bridge.devices.length]!;
      await bridge.report(entry.friendly_name, { counter: stampNow() });
    }
  }
}
