// A program: devices that send states at QoS 1, each with several in flight. It is controlled over its channel (see
// `pinned.ts`).
import { setTimeout as sleep } from 'node:timers/promises';
import { answerRequests, monotonicMs } from './pinned.ts';
import { connectRawDevice, onAcknowledged, type RawLogin } from './raw-device.ts';

export type LoadRequest =
  | { kind: 'connect'; name: string; port: number; stationId: string; logins: RawLogin[] }
  /**
   * Each device sends `count` more.
   * @returns {LoadResult} when all of them are acknowledged.
   */
  | { kind: 'send'; name: string; count: number; inFlight: number };
/** Monotonic milliseconds. */
export type LoadResult = { startedMs: number; acknowledgedMs: number };

type Device = Awaited<ReturnType<typeof connectRawDevice>> & { acknowledged(count: number): void };
const groups = new Map<string, Device[]>();

answerRequests<LoadRequest>(async (body) => {
  if (body.kind === 'send') return sendAll(groups.get(body.name) ?? [], body);
  const { name, port, stationId, logins } = body;
  const devices: Device[] = [];
  for (const login of logins) {
    const topic = `station/${stationId}/device/${login.externalId}/state`;
    const raw = await connectRawDevice({ host: '127.0.0.1', port, topic, login });
    const device: Device = { ...raw, acknowledged: () => undefined };
    onAcknowledged(raw.socket, (count) => device.acknowledged(count));
    devices.push(device);
  }
  for (const { socket } of devices) socket.on('close', () => process.exit(3));
  groups.set(name, devices);
  return null;
});

async function sendAll(
  devices: Device[],
  { count, inFlight }: { count: number; inFlight: number },
): Promise<LoadResult> {
  let pending = devices.length * count;
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const startedMs = monotonicMs();
  for (const device of devices) {
    let left = count;
    const more = (atMost: number): void => {
      const now = Math.min(atMost, left);
      left -= now;
      if (now > 0) device.send(now);
    };
    device.acknowledged = (acknowledged) => {
      pending -= acknowledged;
      more(acknowledged);
      if (pending === 0) resolve();
    };
    more(inFlight);
  }
  await done;
  const result = { startedMs, acknowledgedMs: monotonicMs() };
  await sleep(0);
  return result;
}
