import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { collectBytes } from './collect-bytes.ts';

async function* piecesOf(size: number, count: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < count; at += 1) yield Buffer.alloc(size, at);
}

test('pieces of any size become one, up to the limit', async () => {
  for (const [size, count] of [
    [0, 3],
    [1, 1],
    [1, 1_000],
    [7, 100],
    [1_000, 1],
  ] as const) {
    const expected = Buffer.concat(await Array.fromAsync(piecesOf(size, count)));
    const whole = await collectBytes(piecesOf(size, count), size * count);
    assert.ok(whole !== null && Buffer.from(whole).equals(expected), `${count} pieces of ${size}`);
    if (size > 0) assert.equal(await collectBytes(piecesOf(size, count), size * count - 1), null);
  }
});

test('a source that is too long is ended', async () => {
  let isEnded = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.from('x');
    } finally {
      isEnded = true;
    }
  }
  assert.equal(await collectBytes(endless(), 1_000), null);
  assert.ok(isEnded);
});

test('pieces of one byte take no memory beside their bytes', async () => {
  const program = `
    import { collectBytes } from ${JSON.stringify(import.meta.resolve('./collect-bytes.ts'))};
    async function* pieces() {
      for (let at = 0; at < 2_000_000; at += 1) yield Buffer.from('x');
    }
    console.log((await collectBytes(pieces(), 2 ** 22)).length);`;
  // With little room for objects, a list of all pieces ends the program.
  const options = ['--max-old-space-size=64', '--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, options);
  assert.equal(stdout.trim(), '2000000');
});
