// A program: a browser's WebSocket that records the age of each received state, and sends commands. It is controlled
// over its channel.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { answerRequests, monotonicMs } from './pinned.ts';
import { msSince } from './stamps.ts';

export type WatchRequest =
  | { kind: 'open'; url: string; token: string }
  /** @returns {number[]} the age in milliseconds of each state that arrived since the last `take`. */
  | { kind: 'take' }
  /** @returns {number[]} the milliseconds from each command over HTTP to the arrival of the device's confirmation. */
  | { kind: 'command'; deviceId: string; count: number; pauseMs: number };

type Message = { type: string; state?: Record<string, unknown>; commandId?: string; status?: string };

let url = '';
let token = '';
let ages: number[] = [];
/** Time of the confirmation, by command id. */
const confirmed = new Map<string, number>();
let onConfirmed = (): void => undefined;

answerRequests<WatchRequest>(async (body) => {
  switch (body.kind) {
    case 'open':
      url = body.url;
      token = body.token;
      return open();
    case 'take': {
      const taken = ages;
      ages = [];
      return taken;
    }
    case 'command':
      return command(body);
  }
});

async function open(): Promise<void> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`);
  await once(socket, 'open');
  const authenticated = Promise.withResolvers<void>();
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as Message;
    if (message.type === 'hello') return authenticated.resolve();
    if (message.type === 'device_state') {
      const stamp = message.state?.['counter'];
      if (typeof stamp === 'number') ages.push(msSince(stamp));
    } else if (message.type === 'device_command' && message.status === 'confirmed') {
      confirmed.set(message.commandId ?? '', monotonicMs());
      onConfirmed();
    }
  });
  socket.on('close', () => process.exit(3));
  socket.send(JSON.stringify({ type: 'auth', token }));
  await authenticated.promise;
}

async function command({ deviceId, count, pauseMs }: WatchRequest & { kind: 'command' }): Promise<number[]> {
  const took: number[] = [];
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  for (let given = 0; given < count; given++) {
    const startedMs = monotonicMs();
    const body = JSON.stringify({ action: given % 2 === 0 ? 'turn_on' : 'turn_off' });
    const response = await fetch(`${url}/api/devices/${deviceId}/command`, { method: 'POST', headers, body });
    if (response.status !== 202)
      throw new Error(`A command has the response status ${response.status}: ${await response.text()}`);
    const { commandId } = (await response.json()) as { commandId: string };
    while (!confirmed.has(commandId)) await new Promise<void>((resolve) => (onConfirmed = resolve));
    took.push((confirmed.get(commandId) ?? NaN) - startedMs);
    confirmed.clear();
    await sleep(pauseMs);
  }
  return took;
}
