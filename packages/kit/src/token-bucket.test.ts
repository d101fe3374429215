import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTokenBucket } from './token-bucket.ts';

test('so many at once, and then so many a second', () => {
  let now = 0;
  const bucket = createTokenBucket({ burst: 60, perSecond: 2 }, () => now);
  const taken = (count: number): number => Array.from({ length: count }, bucket.take).filter(Boolean).length;
  assert.equal(bucket.isFull(), true);
  assert.equal(taken(100), 60);
  now += 10_000;
  assert.equal(taken(100), 20);
  assert.equal(bucket.isFull(), false);
  now += 3_600_000;
  assert.equal(bucket.isFull(), true);
  assert.equal(taken(100), 60);
});
