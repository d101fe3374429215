import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLogReader } from './container-log.ts';

const time = '2026-03-01T12:00:00.123456789Z';

function frame(stream: number, text: string): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.alloc(8);
  head.writeUInt8(stream, 0);
  head.writeUInt32BE(payload.length, 4);
  return Buffer.concat([head, payload]);
}

const texts = (reader: ReturnType<typeof createLogReader>, ...chunks: Uint8Array[]): string[] =>
  chunks.flatMap((chunk) => reader(chunk)).map(({ text }) => text);

describe('the log of a container', () => {
  it('is read however the frames are cut', () => {
    const bytes = Buffer.concat([
      frame(1, `${time} Привіт\n`),
      frame(2, `${time} half `),
      frame(1, `${time} between\n`),
      frame(2, 'a line\n'),
      frame(1, ''),
      frame(1, `${time} \n${time} two in one\r\n`),
    ]);
    const wanted = ['Привіт', 'between', 'half a line', '', 'two in one'];
    assert.deepEqual(texts(createLogReader(), bytes), wanted);
    for (const size of [1, 2, 3, 7, 8, 9, 50]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      assert.deepEqual(texts(createLogReader(), ...pieces), wanted, `in pieces of ${size}`);
    }
  });

  it('keeps the time of the engine', () => {
    assert.deepEqual(createLogReader()(frame(1, `${time} up\n`)), [{ time, text: 'up' }]);
  });

  it('of a program with a terminal has no frames', () => {
    assert.deepEqual(texts(createLogReader(), Buffer.from(`${time} plain\n`)), ['plain']);
  });

  it('is not kept in memory when a line has no end', () => {
    const reader = createLogReader();
    assert.deepEqual(texts(reader, frame(1, `${time} x`)), []);
    for (let count = 0; count < 100; count += 1) reader(frame(1, 'y'.repeat(10_000)));
    const [line] = reader(frame(1, '\n'));
    assert.ok(line && line.text.length <= 8192, String(line?.text.length));
  });
});
