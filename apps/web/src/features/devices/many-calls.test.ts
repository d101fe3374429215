import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../api/request.ts';
import { callForEach } from './many-calls.ts';

test('does all of them, a few at once, and tells how many are done', async () => {
  let running = 0;
  let most = 0;
  const done: number[] = [];
  const ids = Array.from({ length: 10 }, (_, index) => String(index));
  const called: string[] = [];
  const failed = await callForEach(
    ids,
    async (id) => {
      running += 1;
      most = Math.max(most, running);
      called.push(id);
      await Promise.resolve();
      running -= 1;
    },
    (count) => done.push(count),
  );
  assert.equal(failed, null);
  assert.deepEqual(called, ids);
  assert.equal(most, 4);
  assert.deepEqual(done, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('names those that failed, and does the others', async () => {
  const called: string[] = [];
  const failed = await callForEach(
    ['a', 'b', 'c'],
    async (id) => {
      called.push(id);
      if (id !== 'b') return;
      throw new Problem('not_found', 'There is no such device.');
    },
    () => undefined,
  );
  assert.deepEqual(called, ['a', 'b', 'c']);
  assert.deepEqual([failed?.ids, failed?.problem.code], [['b'], 'not_found']);
});
