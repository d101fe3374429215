import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLine } from './line.ts';

test('a frame that is held up holds up those after it, also on a machine that is too busy for its timers', async () => {
  const line = createLine();
  const dealt: number[] = [];
  line.pass(0, () => dealt.push(0));
  assert.deepEqual(dealt, [0], 'nothing is in its way');
  line.pass(20, () => dealt.push(1));
  line.pass(0, () => dealt.push(2));
  // The time of both has come, and no timer could run yet.
  const until = performance.now() + 30;
  while (performance.now() < until);
  const { promise, resolve } = Promise.withResolvers<void>();
  line.pass(0, () => {
    dealt.push(3);
    resolve();
  });
  assert.deepEqual(dealt, [0]);
  await promise;
  assert.deepEqual(dealt, [0, 1, 2, 3]);
});
