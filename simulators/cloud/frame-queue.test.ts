import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFrameQueue } from './frame-queue.ts';

test('a delayed frame delays those after it, also on a machine that is too busy for its timers', async () => {
  const queue = createFrameQueue();
  const delivered: number[] = [];
  queue.pass(0, () => delivered.push(0));
  assert.deepEqual(delivered, [0], 'not delayed');
  queue.pass(20, () => delivered.push(1));
  queue.pass(0, () => delivered.push(2));
  // Both are due, but no timer could run yet.
  const until = performance.now() + 30;
  while (performance.now() < until);
  const { promise, resolve } = Promise.withResolvers<void>();
  queue.pass(0, () => {
    delivered.push(3);
    resolve();
  });
  assert.deepEqual(delivered, [0]);
  await promise;
  assert.deepEqual(delivered, [0, 1, 2, 3]);
});
