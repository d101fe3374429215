// A program: devices that say states at QoS 1 at a steady rate, each with the time at which it was said. Asked over its channel.
import { setTimeout as sleep } from 'node:timers/promises';
import { connectAsync } from 'mqtt';
import { deviceTopic } from '@station/protocol/topics';
import { answerRequests, monotonicMs } from './pinned.ts';
import { connectRawDevice, onAcknowledged, type RawLogin } from './raw-device.ts';
import { stampNow } from './stamps.ts';

export type PacedRequest =
  | { kind: 'connect'; port: number; stationId: string; logins: RawLogin[] }
  /** The devices take turns. Answered when all of it is acknowledged. */
  | { kind: 'say'; perSecond: number; seconds: number }
  /** One more device says large states, one after the other, then a small one. */
  | { kind: 'say-large'; port: number; stationId: string; login: RawLogin; count: number; bytes: number };

type Device = Awaited<ReturnType<typeof connectRawDevice>>;
const devices: Device[] = [];
let acknowledged = 0;

answerRequests<PacedRequest>(async (body) => {
  switch (body.kind) {
    case 'connect':
      return connectAll(body);
    case 'say':
      return say(body);
    case 'say-large':
      return sayLarge(body);
  }
});

async function connectAll({ port, stationId, logins }: PacedRequest & { kind: 'connect' }): Promise<void> {
  for (const login of logins) {
    const topic = deviceTopic(stationId, login.externalId, 'state');
    const device = await connectRawDevice({ host: '127.0.0.1', port, topic, login });
    onAcknowledged(device.socket, (count) => (acknowledged += count));
    device.socket.on('close', () => process.exit(3));
    devices.push(device);
  }
}

async function say({ perSecond, seconds }: PacedRequest & { kind: 'say' }): Promise<void> {
  const [startedMs, total] = [monotonicMs(), perSecond * seconds];
  acknowledged = 0;
  for (let said = 0; said < total; await sleep(1)) {
    const due = Math.min(total, Math.floor(((monotonicMs() - startedMs) * perSecond) / 1_000));
    for (; said < due; said++) devices[said % devices.length]?.say(1, stampNow);
  }
  while (acknowledged < total) await sleep(5);
}

/** Browsers get the last state of each 50 ms or so; at a slower rate they get each one. */
const largePauseMs = 30;

async function sayLarge({ port, stationId, login, count, bytes }: PacedRequest & { kind: 'say-large' }): Promise<void> {
  const { externalId, token } = login;
  const url = `mqtt://127.0.0.1:${port}`;
  const client = await connectAsync(url, { clientId: externalId, username: externalId, password: token });
  for (let left = count; left >= 0; left--) {
    const state = { left, filler: 'x'.repeat(left === 0 ? 0 : bytes) };
    await client.publishAsync(deviceTopic(stationId, externalId, 'state'), JSON.stringify({ state }), { qos: 1 });
    await sleep(largePauseMs);
  }
  await client.endAsync();
}
