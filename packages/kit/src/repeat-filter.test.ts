import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRepeatFilter } from './repeat-filter.ts';

const address = (index: number): string =>
  (index + 0xc0_00_00_00_00_00).toString(16).toUpperCase().match(/../g)?.join(':') ?? '';

test('a few keys are admitted at once', () => {
  const filter = createRepeatFilter();
  for (let index = 0; index < 60; index += 1) assert.ok(filter.admits(address(index), 0, false));
});

test('of ten thousand new keys a second few are admitted, and one that comes each second is from its second time on', () => {
  const filter = createRepeatFilter();
  const admitted: boolean[] = [];
  let others = 0;
  let next = 0;
  for (let second = 0; second < 20; second += 1) {
    for (let count = 0; count < 10_000; count += 1) {
      const nowMs = second * 1_000 + count / 10;
      if (filter.admits(address(next++), nowMs, false)) others += 1;
      if (count === 5_000) admitted.push(filter.admits('AA:AA:AA:AA:AA:01', nowMs, false));
    }
  }
  assert.ok(others < 200_000 / 100, `${others} of 200,000`);
  assert.deepEqual(admitted.slice(2), Array(18).fill(true));
});

test('one key that comes ten thousand times a second is admitted ten times a second, also a known one', () => {
  for (const isKnown of [false, true]) {
    const filter = createRepeatFilter();
    let admitted = 0;
    for (let count = 0; count < 20_000; count += 1) admitted += Number(filter.admits('a', count / 10, isKnown));
    assert.equal(admitted, 20);
    assert.ok(filter.admits('a', 2_000, isKnown));
  }
});

test('a known key is admitted during a flood, however seldom it comes', () => {
  const filter = createRepeatFilter();
  for (let count = 0; count < 3_000; count += 1) filter.admits(address(count), 0, false);
  assert.deepEqual([filter.admits('seldom', 1, false), filter.admits('seldom', 1, true)], [false, true]);
});
