import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSharedWait } from './shared-wait.ts';

test('what waits for one promise is told together, in order, and nothing of it is forgotten or told twice', async () => {
  const told: number[][] = [];
  const wait = createSharedWait<number>((items) => told.push([...items]));
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  wait(first.promise, 1);
  wait(first.promise, 2);
  wait(second.promise, 3);
  wait(first.promise, 4);
  await new Promise(setImmediate);
  assert.deepEqual(told, []);
  second.resolve();
  await new Promise(setImmediate);
  assert.deepEqual(told, [[3]]);
  first.resolve();
  await new Promise(setImmediate);
  assert.deepEqual(told, [[3], [1, 2], [4]]);
});

test('one that comes with a promise that has resolved already is told all the same', async () => {
  const told: number[][] = [];
  const wait = createSharedWait<number>((items) => told.push([...items]));
  const done = Promise.resolve();
  wait(done, 1);
  await new Promise(setImmediate);
  wait(done, 2);
  wait(done, 3);
  await new Promise(setImmediate);
  assert.deepEqual(told, [[1], [2, 3]]);
});
