import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createWallTimes } from './wall-times.ts';

function open() {
  const time = { now: 1_000_000, monotonic: 500 };
  const wall = createWallTimes({ ...systemClock, now: () => time.now, monotonic: () => time.monotonic });
  return { time, wall };
}

test('a moment keeps its time while the clocks drift, and gets another when the clock is set', () => {
  const { time, wall } = open();
  assert.equal(wall('connected', 400), 999_900);
  Object.assign(time, { now: 1_000_101, monotonic: 600 });
  assert.equal(wall('connected', 400), 999_900, 'a millisecond more by one of them');
  time.now += 3_600_000;
  assert.equal(wall('connected', 400), 4_599_901);
});

test('another moment has another time, and none has none', () => {
  const { wall } = open();
  assert.equal(wall('heard', 400), 999_900);
  assert.equal(wall('heard', 401), 999_901);
  assert.equal(wall('connected', 400), 999_900);
  assert.equal(wall('heard', null), null);
});
