import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { textFrames } from './adapters/web-sockets.ts';
import { batchesOf, batchOf, closeAtBytes, coalesceAtBytes, createOutbox, outgoing } from './outbox.ts';

/** A socket whose other end only reads when the test lets it. */
function slowSocket() {
  const written: string[] = [];
  const waiting: { bytes: number; done: () => void }[] = [];
  return {
    written,
    get bufferedAmount() {
      return waiting.reduce((sum, { bytes }) => sum + bytes, 0);
    },
    write: (frames: Buffer, done: () => void) => {
      written.push(...textsIn(frames));
      waiting.push({ bytes: frames.length, done });
    },
    readAll: () => {
      while (waiting.length > 0) waiting.shift()!.done();
    },
  };
}

/** The texts of frames with a payload from 126 bytes to 64 KiB (all there are here), or of fewer. */
function textsIn(frames: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < frames.length;) {
    const short = frames.readUInt8(at + 1);
    const [start, bytes] = short < 126 ? [at + 2, short] : [at + 4, frames.readUInt16BE(at + 2)];
    texts.push(frames.toString('utf8', start, start + bytes));
    at = start + bytes;
  }
  return texts;
}

const filler = 'x'.repeat(50_000);
const state = (device: number, value: number) => batchOf([outgoing({ device, value, filler }, `state ${device}`)]);
const event = (name: string) => batchOf([outgoing({ event: name })]);

test('sends everything, in order, to a client that keeps up', () => {
  const socket = slowSocket();
  const outbox = createOutbox(socket, () => assert.fail());
  for (let value = 0; value < 100; value++) {
    outbox.send(state(1, value));
    socket.readAll();
  }
  assert.deepEqual(
    socket.written.map((text) => (JSON.parse(text) as { value: number }).value),
    [...Array(100).keys()],
  );
});

test('gives a client that is 1 MiB behind the latest state of each device, and every event', () => {
  const socket = slowSocket();
  const outbox = createOutbox(socket, () => assert.fail());
  while (socket.bufferedAmount < coalesceAtBytes) outbox.send(state(0, -1));
  const before = socket.written.length;
  for (let value = 0; value < 1_000; value++) for (const device of [1, 2]) outbox.send(state(device, value));
  outbox.send(event('first'));
  outbox.send(event('second'));
  assert.equal(socket.written.length, before);
  assert.ok(outbox.backlogBytes() < 2 * coalesceAtBytes);
  socket.readAll();
  const after = socket.written.slice(before).map((text) => JSON.parse(text) as Record<string, unknown>);
  assert.deepEqual(
    after.map(({ device, value, event }) => event ?? [device, value]),
    [[1, 999], [2, 999], 'first', 'second'],
  );
  outbox.send(state(3, 1));
  assert.match(socket.written.at(-1) ?? '', /"device":3/);
});

test('reports the overflow of a client at 8 MiB, once', () => {
  const socket = slowSocket();
  let overflows = 0;
  const outbox = createOutbox(socket, () => overflows++);
  for (let index = 0; index < 1_000; index++) outbox.send(batchOf([outgoing({ index, filler })]));
  assert.equal(overflows, 1);
  assert.ok(outbox.backlogBytes() < closeAtBytes + 100_000);
});

test('cuts messages into batches of at most 64 KiB, a larger message alone', () => {
  const sizes = [30_000, 30_000, 30_000, 200_000, 10];
  const messages = sizes.map((size) => outgoing({ text: 'x'.repeat(size) }));
  const batches = [...batchesOf(messages)];
  assert.deepEqual(
    batches.map((batch) => batch.messages.length),
    [2, 1, 1, 1],
  );
  assert.deepEqual(
    batches.flatMap((batch) => batch.messages),
    messages,
  );
  assert.deepEqual([...batchesOf([])], []);
});

test('keeps only the waiting messages of a batch, not its bytes', () => {
  const socket = slowSocket();
  const outbox = createOutbox(socket, () => assert.fail());
  while (socket.bufferedAmount < coalesceAtBytes) outbox.send(state(0, -1));
  const before = outbox.backlogBytes();
  const kept = outgoing({ kept: 1 }, 'kept');
  for (let round = 0; round < 1_000; round++) outbox.send(batchOf([outgoing({ round, filler }, 'round'), kept]));
  assert.ok(outbox.backlogBytes() < before + filler.length + 100);
  socket.readAll();
  assert.deepEqual(JSON.parse(socket.written.at(-1) ?? ''), { kept: 1 });
});

test('a client reads messages of every length out of one write, in their order', async () => {
  const texts = [0, 1, 125, 126, 65_535, 65_536, 200_000].map((length) => 'x'.repeat(length));
  texts.push('Світло увімкнено 💡');
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  server.on('connection', (_, request) => {
    request.socket.write(textFrames(texts.map((text) => ({ text }))));
  });
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const received: string[] = [];
  await new Promise<void>((resolve, reject) => {
    client.on('error', reject);
    client.on('message', (data: Buffer, isBinary) => {
      assert.equal(isBinary, false);
      if (received.push(data.toString()) === texts.length) resolve();
    });
  });
  assert.deepEqual(received, texts);
  client.terminate();
  server.close();
});
