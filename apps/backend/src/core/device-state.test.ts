import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMergedState, maxStateBytes, maxStateKeys, readState } from './device-state.ts';

const many = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
const bytesOf = (state: object): number => Buffer.byteLength(JSON.stringify(state));

test('a state has a limit of capabilities; new ones are left out, known ones still change', () => {
  const merged = createMergedState(JSON.stringify(many(maxStateKeys - 1)));
  assert.deepEqual(merged.add({ k0: 'changed', room: 1, toomany: 2 }), { k0: 'changed', room: 1 });
  assert.deepEqual(merged.add({ k1: null, another: 3 }), { k1: null });
  assert.deepEqual(merged.state(), { ...many(maxStateKeys - 1), k0: 'changed', k1: null, room: 1 });
});

test('a report that fits is taken unchanged, whatever its keys are', () => {
  const merged = createMergedState();
  const reported = JSON.parse('{"__proto__":1,"constructor":{"a":[1]},"ключ":"значення"}') as Record<string, unknown>;
  assert.equal(merged.add(reported), reported);
  assert.equal(JSON.stringify(merged.state()), JSON.stringify(reported));
});

test('a state has a limit of UTF-8 bytes; a full one still takes numbers and values that are not longer', () => {
  const long = 'ї'.repeat(maxStateBytes / 4);
  const merged = createMergedState(JSON.stringify({ long, mode: 'heat', temperature: 9.5 }));
  assert.deepEqual(merged.add({ second: long }), {});
  assert.deepEqual(Object.keys(merged.add({ fill: 'x'.repeat(maxStateBytes / 2 - 60) })), ['fill']);
  assert.deepEqual(merged.add({ mode: 'x'.repeat(100), temperature: 10.25, more: 'x'.repeat(100) }), {
    temperature: 10.25,
  });
  assert.deepEqual(merged.add({ mode: 'cool' }), { mode: 'cool' });
  assert.ok(bytesOf(merged.state()) <= maxStateBytes);
  assert.deepEqual(merged.add({ long: 'short' }), { long: 'short' });
  assert.deepEqual(Object.keys(merged.add({ more: 'x'.repeat(100) })), ['more']);
});

test('the size counted while a state grows equals the size counted when it is read', () => {
  const merged = createMergedState();
  for (let n = 0; n < 2_000; n++) {
    const value = [n * 1.5, 'ї"\n'.repeat(n), { n }, [n], null, true][n % 6];
    merged.add({ [`ключ ${n % 300}`]: value });
    merged.add({ [`ключ ${(n * 7) % 300}`]: n });
  }
  assert.equal(Object.keys(merged.state()).length, maxStateKeys);
  assert.ok(bytesOf(merged.state()) <= maxStateBytes);
  assert.deepEqual(readState(JSON.stringify(merged.state())), merged.state());
});

test('an old state beyond the limits is cut to what fits', () => {
  assert.deepEqual(readState(JSON.stringify(many(1_000))), many(maxStateKeys));
  const half = 'x'.repeat(maxStateBytes / 2);
  const rest = 'x'.repeat(maxStateBytes);
  assert.deepEqual(readState(JSON.stringify({ half, rest, on: true })), { half, on: true });
});

for (const text of ['', '{"on":tr', '[1]', 'null', '7', '\0\0\0\0']) {
  test(`a state that reads ${JSON.stringify(text)} counts as empty`, () => {
    assert.deepEqual(readState(text), {});
    const merged = createMergedState(text);
    merged.add({ on: true });
    assert.deepEqual(merged.state(), { on: true });
  });
}
