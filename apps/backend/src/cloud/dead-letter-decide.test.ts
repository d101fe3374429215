import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDeadLetterWatch, type DeadLetterWatch } from './dead-letter-decide.ts';

const lose = (watch: DeadLetterWatch, seq: number, times: number): (number | null)[] =>
  Array.from({ length: times }, () => watch.lost(1011, seq));
const never = (times: number) => Array.from({ length: times }, () => null);

test('after five losses another message is tried; if the cloud accepts it, the next loss makes the first a dead letter', () => {
  const watch = createDeadLetterWatch();
  assert.deepEqual([watch.window(9), watch.isSuspecting(), watch.held()], [9, false, null]);
  assert.deepEqual(lose(watch, 7, 4), never(4));
  assert.deepEqual([watch.window(9), watch.isSuspecting(), watch.held()], [1, true, null]);
  assert.deepEqual(lose(watch, 7, 1), [null]);
  assert.deepEqual(watch.held(), { seq: 7, triedUpTo: 0 });
  watch.took();
  assert.deepEqual([watch.window(9), watch.isSuspecting(), watch.held()], [1, true, null]);
  assert.deepEqual(lose(watch, 7, 1), [7]);
  assert.deepEqual([watch.window(9), watch.isSuspecting(), watch.held()], [9, false, null]);
});

test('a cloud that ends the link at other messages too is at fault: no dead letter, and each time another is tried', () => {
  const watch = createDeadLetterWatch();
  for (const [triedUpTo, other] of [
    [0, 8],
    [8, 9],
  ] as const) {
    assert.deepEqual(lose(watch, 7, 5), never(5));
    assert.deepEqual(watch.held(), { seq: 7, triedUpTo });
    assert.deepEqual(lose(watch, other, 1), [null]);
    assert.equal(watch.held(), null);
  }
  watch.took();
  assert.equal(watch.isSuspecting(), false);
});

test('a message that is accepted later is no longer suspected, also after another was accepted', () => {
  const watch = createDeadLetterWatch();
  lose(watch, 7, 5);
  watch.took();
  watch.took();
  assert.equal(watch.isSuspecting(), false);
  assert.deepEqual(lose(watch, 7, 5), never(5));
});

test('without a message to compare, one becomes a dead letter, and no second one until the cloud accepts something', () => {
  const watch = createDeadLetterWatch();
  lose(watch, 7, 5);
  watch.nothingElse();
  assert.deepEqual(lose(watch, 7, 1), [7]);
  for (const _ of [1, 2]) {
    assert.deepEqual(lose(watch, 8, 5), never(5));
    watch.nothingElse();
  }
  watch.took();
  assert.deepEqual(lose(watch, 9, 5), never(5));
  watch.nothingElse();
  assert.deepEqual(lose(watch, 9, 1), [9]);
});

test('a link that breaks, or had nothing in flight, makes no message suspect', () => {
  const watch = createDeadLetterWatch();
  for (const [code, oldest] of [
    [null, 7],
    [1006, 7],
    [1001, 7],
    [1011, null],
  ] as const) {
    assert.equal(watch.lost(code, oldest), null);
  }
  assert.equal(watch.isSuspecting(), false);
  lose(watch, 7, 5);
  assert.equal(watch.lost(null, 8), null);
  assert.deepEqual(watch.held(), { seq: 7, triedUpTo: 0 });
});
