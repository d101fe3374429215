import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatRelative } from './relative-time.ts';

const now = new Date(2026, 10, 20, 14, 30).getTime();
const minutes = (count: number): number => now - count * 60_000;

test('relative times are coarse, and calendar days are counted as people count them', () => {
  const cases: [number, string, string][] = [
    [minutes(5), '5 minutes ago', '5 хвилин тому'],
    [minutes(60 * 3), '3 hours ago', '3 години тому'],
    [minutes(60 * 20), 'yesterday', 'учора'],
    [minutes(60 * 24 * 5), '5 days ago', '5 днів тому'],
    [new Date(2026, 9, 31).getTime(), '31 Oct', '31 жовт.'],
    [new Date(2025, 9, 16).getTime(), '16 Oct 2025', '16 жовт. 2025 р.'],
  ];
  for (const [then, english, ukrainian] of cases) {
    assert.equal(formatRelative('en-GB', then, now), english);
    assert.equal(formatRelative('uk', then, now), ukrainian);
  }
});

test('the last minute has no number, and neither has a time ahead of the clock', () => {
  assert.equal(formatRelative('en-GB', now - 59_000, now), null);
  assert.equal(formatRelative('en-GB', now + 90_000, now), null);
});

test('after midnight, a few hours ago is not yet called yesterday', () => {
  const night = new Date(2026, 10, 20, 1, 0).getTime();
  assert.equal(formatRelative('en-GB', night - 3 * 3_600_000, night), '3 hours ago');
});
