// A program: devices that send states at QoS 1 at a steady rate, each with its time of sending. It is controlled over
// its channel.
import { setTimeout as sleep } from 'node:timers/promises';
import { connectAsync } from 'mqtt';
import { deviceTopic } from '@station/protocol/topics';
import { answerRequests, monotonicMs } from './pinned.ts';
import { connectRawDevice, onAcknowledged, type RawLogin } from './raw-device.ts';
import { stampNow } from './stamps.ts';

export type PacedRequest =
  | { kind: 'connect'; port: number; stationId: string; logins: RawLogin[] }
  /** The devices take turns. Answered when all states are acknowledged. */
  | { kind: 'send'; perSecond: number; seconds: number }
  /** One additional device sends large states one after another, then a small one. */
  | { kind: 'send-large'; port: number; stationId: string; login: RawLogin; count: number; bytes: number };

type Device = Awaited<ReturnType<typeof connectRawDevice>>;
const devices: Device[] = [];
let acknowledged = 0;

answerRequests<PacedRequest>(async (body) => {
  switch (body.kind) {
    case 'connect':
      return connectAll(body);
    case 'send':
      return sendPaced(body);
    case 'send-large':
      return sendLarge(body);
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

async function sendPaced({ perSecond, seconds }: PacedRequest & { kind: 'send' }): Promise<void> {
  const startedMs = monotonicMs();
  const total = perSecond * seconds;
  acknowledged = 0;
  for (let sentCount = 0; sentCount < total; await sleep(1)) {
    const due = Math.min(total, Math.floor(((monotonicMs() - startedMs) * perSecond) / 1_000));
    for (; sentCount < due; sentCount++) devices[sentCount % devices.length]?.send(1, stampNow);
  }
  while (acknowledged < total) await sleep(5);
}

/** Browsers receive only the last state of about 50 ms. At a slower rate they receive every state. */
const largePauseMs = 30;

async function sendLarge({
  port,
  stationId,
  login,
  count,
  bytes,
}: PacedRequest & { kind: 'send-large' }): Promise<void> {
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
