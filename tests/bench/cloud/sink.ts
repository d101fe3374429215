/**
 * A program: a cloud that only counts. It accepts every login, acknowledges every message, and records which numbered
 * events arrived, in which order, and how long live states took. It reports this when its parent process asks.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

export type SinkReport = {
  events: number;
  repeated: number;
  outOfOrder: number;
  firstAt: number;
  lastAt: number;
  /** Milliseconds between the time in a live state and its arrival. */
  stateDelaysMs: number[];
};

const seen = new Uint8Array(8 * 1024 * 1024);
const report: SinkReport = { events: 0, repeated: 0, outOfOrder: 0, firstAt: 0, lastAt: 0, stateDelaysMs: [] };
let highest = -1;

function record({
  method,
  params,
}: {
  method: string;
  params: { data?: { n: number }; state?: { sentAt?: number } };
}): void {
  if (method === 'device.stateChanged') {
    const { sentAt } = params.state ?? {};
    if (sentAt !== undefined) report.stateDelaysMs.push(Date.now() - sentAt);
    return;
  }
  const n = params.data?.n;
  if (n === undefined) return;
  report.lastAt = Date.now();
  report.firstAt ||= report.lastAt;
  if (seen[n] === 1) report.repeated += 1;
  else report.events += 1;
  seen[n] = 1;
  if (n < highest) report.outOfOrder += 1;
  highest = Math.max(highest, n);
}

const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
server.on('connection', (socket) => {
  socket.on('error', () => undefined);
  socket.on('message', (data) => {
    const frame = JSON.parse((data as Buffer).toString('utf8')) as Parameters<typeof record>[0] & { type?: string };
    if (frame.type === 'station_auth') return socket.send('{"type":"auth_ok","acks":true}');
    if (frame.method === undefined) return;
    record(frame);
    const { seq } = frame.params as { seq?: number };
    if (seq !== undefined) socket.send(`{"type":"ack","seq":${seq}}`);
  });
});
await once(server, 'listening');
process.on('message', () => process.send?.(report));
process.on('disconnect', () => process.exit());
process.send?.({ port: (server.address() as AddressInfo).port });
