/** A program: a misbehaving cloud. Its parent process chooses the behaviour. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { maxBatchCalls } from '@station/protocol/cloud-rpc';
import { owner } from '../../../apps/backend/testing/running-backend.ts';
import { answerRequests } from '../load/pinned.ts';

export type CloudRequest = { kind: 'port' } | { kind: 'be'; behaviour: CloudBehaviour };
export type CloudBehaviour = 'quiet' | 'black hole' | 'flood' | 'large frames' | 'batches' | 'member lists';

const framesPerSecond = 10_000;
const largeBytes = 1_000_000;
const tickMs = 10;
/** Above this limit nothing more is sent, because the station no longer reads. */
const maxBufferedBytes = 8 * 1024 * 1024;

let behaviour: CloudBehaviour = 'quiet';
let current: WebSocket | null = null;
const small = '{"jsonrpc":"2.0","id":1,"method":"device_types.list"}';
const large = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'nothing', params: { x: 'y'.repeat(largeBytes) } });

const batch = JSON.stringify(
  Array.from({ length: maxBatchCalls }, (_, id) => ({ jsonrpc: '2.0', id, method: 'devices.snapshot' })),
);
const members = JSON.stringify({
  type: 'identity_sync',
  station: { name: 'Home' },
  ownerId: 'cloud-user-0',
  members: Array.from({ length: 100 }, (_, index) => ({
    cloudUserId: `cloud-user-${index}`,
    // The owner of the station must not change.
    email: index === 0 ? owner.email : `member-${index}@example.org`,
    name: `Member ${index}`,
    role: index === 0 ? 'owner' : 'member',
  })),
});

const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
server.on('connection', (socket) => {
  current = socket;
  socket.on('error', () => undefined);
  socket.on('message', (data) => {
    const text = (data as Buffer).toString('utf8');
    if (text.includes('"station_auth"')) socket.send('{"type":"auth_ok","acks":true}');
    const seq = /"seq":(\d+)/.exec(text)?.[1];
    if (seq !== undefined) socket.send(`{"type":"ack","seq":${seq}}`);
  });
});
setInterval(() => {
  if (current === null || current.bufferedAmount > maxBufferedBytes) return;
  if (behaviour === 'flood') {
    for (let frame = 0; frame < (framesPerSecond * tickMs) / 1000; frame++) current.send(small);
  }
  if (behaviour === 'large frames') current.send(large);
  if (behaviour === 'batches') current.send(batch);
  if (behaviour === 'member lists') current.send(members);
}, tickMs);
await once(server, 'listening');
answerRequests(async (asked: CloudRequest) => {
  if (asked.kind === 'port') return (server.address() as AddressInfo).port;
  // Each behaviour begins with a new connection, so that no frames of the previous one remain.
  current?.terminate();
  behaviour = asked.behaviour;
  if (behaviour === 'black hole') server.once('connection', (socket) => setTimeout(() => socket.pause(), 500));
  return null;
});
process.on('disconnect', () => process.exit());
