import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closeAtBytes, coalesceAtBytes, createOutbox, outgoing } from './outbox.ts';

/** A socket whose other end reads only when told to. */
function slowSocket() {
  const written: string[] = [];
  const waiting: { bytes: number; done: () => void }[] = [];
  return {
    written,
    get bufferedAmount() {
      return waiting.reduce((sum, { bytes }) => sum + bytes, 0);
    },
    send: (text: string, done: () => void) => {
      written.push(text);
      waiting.push({ bytes: Buffer.byteLength(text), done });
    },
    readAll: () => {
      while (waiting.length > 0) waiting.shift()!.done();
    },
  };
}

const filler = 'x'.repeat(50_000);
const state = (device: number, value: number) => outgoing({ device, value, filler }, `state ${device}`);

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
  outbox.send(outgoing({ event: 'first' }));
  outbox.send(outgoing({ event: 'second' }));
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

test('gives up on a client at 8 MiB, once', () => {
  const socket = slowSocket();
  let overflows = 0;
  const outbox = createOutbox(socket, () => overflows++);
  for (let index = 0; index < 1_000; index++) outbox.send(outgoing({ index, filler }));
  assert.equal(overflows, 1);
  assert.ok(outbox.backlogBytes() < closeAtBytes + 100_000);
});
