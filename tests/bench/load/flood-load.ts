// A program: normal devices whose acknowledgements are timed, or a device that floods, or members that read. It is
// controlled over its channel (see `pinned.ts`).
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { generate } from 'mqtt-packet';
import { deviceTopic } from '@station/protocol/topics';
import { answerRequests, monotonicMs } from './pinned.ts';
import { connectRawDevice, onAcknowledged, type RawLogin } from './raw-device.ts';
import { stampNow } from './stamps.ts';

export type FloodRequest =
  | { kind: 'connect'; port: number; stationId: string; logins: RawLogin[] }
  /** Each device sends a state a second, at its own moment. @returns {PacedResult} */
  | { kind: 'pace'; seconds: number }
  /** The first device sends as fast as it can: states of 60 kB and events of 4 kB. @returns {FloodResult} */
  | { kind: 'flood'; seconds: number }
  /** So many members read these paths one after another. @returns {ReadResult} */
  | { kind: 'read'; members: number; url: string; token: string; paths: string[]; seconds: number };

/** Milliseconds from each state to its acknowledgement, and the last acknowledged stamp of each device. */
export type PacedResult = { latencies: number[]; last: Record<string, number> };
export type FloodResult = { sent: number; acknowledged: number; bytes: number; lastState: number };
export type ReadResult = { answers: Record<string, number>; largestBytes: number };

type Device = Awaited<ReturnType<typeof connectRawDevice>> & { externalId: string; acknowledged(count: number): void };
let devices: Device[] = [];
let station = '';

answerRequests<FloodRequest>(async (body) => {
  switch (body.kind) {
    case 'connect':
      return connectAll(body);
    case 'pace':
      return pace(body.seconds);
    case 'flood':
      return flood(body.seconds);
    case 'read':
      return read(body);
  }
});

async function connectAll({ port, stationId, logins }: FloodRequest & { kind: 'connect' }): Promise<void> {
  station = stationId;
  for (const login of logins) {
    const { externalId } = login;
    // A second attempt, after the broker did not know all logins: a second connection would end the first.
    if (devices.some((device) => device.externalId === externalId)) continue;
    const topic = deviceTopic(stationId, externalId, 'state');
    const raw = await connectRawDevice({ host: '127.0.0.1', port, topic, login });
    const device: Device = { ...raw, externalId, acknowledged: () => undefined };
    onAcknowledged(raw.socket, (count) => device.acknowledged(count));
    raw.socket.on('close', () => process.exit(3));
    devices = [...devices, device];
  }
}

async function pace(seconds: number): Promise<PacedResult> {
  const latencies: number[] = [];
  const last: Record<string, number> = {};
  const endMs = monotonicMs() + seconds * 1_000;
  const one = async (device: Device, index: number): Promise<void> => {
    await sleep((index * 1_000) / devices.length);
    for (let dueMs = monotonicMs(); dueMs < endMs; dueMs += 1_000) {
      await sleep(Math.max(0, dueMs - monotonicMs()));
      const { promise, resolve } = Promise.withResolvers<void>();
      device.acknowledged = () => resolve();
      const stamp = stampNow();
      const sentMs = monotonicMs();
      device.send(1, () => stamp);
      await promise;
      latencies.push(monotonicMs() - sentMs);
      last[device.externalId] = stamp;
    }
  };
  await Promise.all(devices.map(one));
  return { latencies, last };
}

async function flood(seconds: number): Promise<FloodResult> {
  const device = devices[0]!;
  const result: FloodResult = { sent: 0, acknowledged: 0, bytes: 0, lastState: 0 };
  const publish = (end: 'state' | 'event', payload: string): Buffer => {
    const messageId = (result.sent % 65_535) + 1;
    const topic = deviceTopic(station, device.externalId, end);
    result.sent += 1;
    return generate({ cmd: 'publish', topic, payload, qos: 1, messageId, retain: false, dup: false });
  };
  device.acknowledged = (count) => (result.acknowledged += count);
  const endMs = monotonicMs() + seconds * 1_000;
  const state = (): Buffer => {
    result.lastState += 1;
    return publish('state', JSON.stringify({ state: { counter: result.lastState, filler: 'x'.repeat(60_000) } }));
  };
  const event = (): Buffer => {
    const data = { action: 'babble', text: 'y'.repeat(4_000) };
    return publish('event', JSON.stringify({ event: 'device_event', data }));
  };
  while (monotonicMs() < endMs) {
    const chunk = Buffer.concat([state(), event(), event(), event(), event()]);
    result.bytes += chunk.length;
    // Also at the end, however long the broker does not read.
    if (!device.socket.write(chunk)) await Promise.race([once(device.socket, 'drain'), sleep(endMs - monotonicMs())]);
    else await sleep(0);
  }
  return result;
}

async function read({ members, url, token, paths, seconds }: FloodRequest & { kind: 'read' }): Promise<ReadResult> {
  const result: ReadResult = { answers: {}, largestBytes: 0 };
  const endMs = monotonicMs() + seconds * 1_000;
  const headers = { authorization: `Bearer ${token}` };
  const member = async (first: number): Promise<void> => {
    for (let next = first; monotonicMs() < endMs; next++) {
      const response = await fetch(`${url}${paths[next % paths.length]}`, { headers });
      const { length } = await response.bytes();
      result.answers[response.status] = (result.answers[response.status] ?? 0) + 1;
      result.largestBytes = Math.max(result.largestBytes, length);
    }
  };
  await Promise.all(Array.from({ length: members }, (_, index) => member(index)));
  return result;
}
