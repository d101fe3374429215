import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createRateLimitedCounter } from './rate-limited-counter.ts';

it('reports the first of each key immediately, then the count once a minute', () => {
  let nowMs = 5;
  const reports: unknown[] = [];
  const counter = createRateLimitedCounter<'bad' | 'large', string>({
    clock: { monotonic: () => nowMs },
    report: (entry) => void reports.push(entry),
  });
  counter.count('bad', 'first');
  counter.count('large', 'other key');
  counter.count('bad', 'second');
  nowMs += 59_999;
  counter.count('bad', 'third');
  nowMs += 1;
  counter.count('bad', 'fourth');
  assert.deepEqual(reports, [
    { key: 'bad', sinceReport: 1, total: 1, detail: 'first' },
    { key: 'large', sinceReport: 1, total: 1, detail: 'other key' },
    { key: 'bad', sinceReport: 3, total: 4, detail: 'fourth' },
  ]);
  assert.deepEqual([counter.total('bad'), counter.total('large'), counter.total()], [4, 1, 5]);
});
