import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMessageBudget } from './message-budget.ts';

test('a connection sends so many messages at once, and then so many a second', () => {
  let now = 0;
  const take = createMessageBudget(() => now);
  const taken = (count: number): number => Array.from({ length: count }, take).filter(Boolean).length;
  assert.equal(taken(100), 60);
  now += 10_000;
  assert.equal(taken(100), 20);
  now += 3_600_000;
  assert.equal(taken(100), 60);
});
