import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { gatherWrites } from './cloud-socket.ts';

/** A connection that records which writes are sent together. */
function connection() {
  const packets: string[][] = [];
  const stream = new PassThrough({
    write: (chunk: Buffer, _encoding, done) => {
      packets.push([chunk.toString()]);
      done();
    },
    writev: (chunks, done) => {
      packets.push(chunks.map(({ chunk }) => (chunk as Buffer).toString()));
      done();
    },
  });
  return { stream, packets };
}

test('writes of one turn are sent together, at most eight at once, and none is left over', async () => {
  const { stream, packets } = connection();
  const gather = gatherWrites(stream);
  const write = (text: string): void => {
    gather();
    stream.write(text);
  };
  const texts = Array.from({ length: 19 }, (_, index) => String(index));
  // Answers come out of promises.
  await Promise.all(texts.map(async (text) => Promise.resolve(text).then(write)));
  await new Promise(setImmediate);
  assert.deepEqual(packets.flat(), texts);
  assert.ok(packets.every(({ length }) => length <= 8));
  assert.ok(packets.length <= 5, JSON.stringify(packets));
  write('alone');
  assert.equal(stream.writableCorked, 1);
  await new Promise(process.nextTick);
  assert.deepEqual(packets.at(-1), ['alone']);
  assert.equal(stream.writableCorked, 0);
});
