import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatBytes,
  formatBytesPair,
  formatDuration,
  formatElapsed,
  formatPercent,
  formatRelative,
} from './format.ts';

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

/** Numbers and units are held together by a no-break space; the tests read easier without. */
const plain = (text: string): string => text.replaceAll('\u00a0', ' ');

test('durations carry the digits that matter', () => {
  const cases: [number, string, string][] = [
    [0, '0 s', '0 с'],
    [340, '0.3 s', '0,3 с'],
    [1_300, '1.3 s', '1,3 с'],
    [9_940, '9.9 s', '9,9 с'],
    [9_960, '10 s', '10 с'],
    [24_100, '24 s', '24 с'],
    [59_600, '1 min', '1 хв'],
    [185_000, '3 min 5 s', '3 хв 5 с'],
    [3_600_000, '1 h', '1 год'],
    [7_500_000, '2 h 5 min', '2 год 5 хв'],
    [-5, '0 s', '0 с'],
  ];
  for (const [ms, english, ukrainian] of cases) {
    assert.equal(plain(formatDuration('en-GB', ms)), english);
    assert.equal(plain(formatDuration('uk', ms)), ukrainian);
  }
});

test('a running clock never shows a negative or a fraction', () => {
  assert.deepEqual([-10, 0, 999, 42_000, 725_000, 3_723_000].map(formatElapsed), [
    '0:00',
    '0:00',
    '0:00',
    '0:42',
    '12:05',
    '1:02:03',
  ]);
});

test('bytes are decimal and short', () => {
  const cases: [number, string, string][] = [
    [0, '0 B', '0 Б'],
    [812, '812 B', '812 Б'],
    [12_345, '12 kB', '12 кБ'],
    [48_100_000, '48.1 MB', '48,1 МБ'],
    [481_000_000, '481 MB', '481 МБ'],
    [1_234_567_890, '1.2 GB', '1,2 ГБ'],
  ];
  for (const [bytes, english, ukrainian] of cases) {
    assert.equal(plain(formatBytes('en-GB', bytes)), english);
    assert.equal(plain(formatBytes('uk', bytes)), ukrainian);
  }
});

test('done and total share the unit of the total', () => {
  const { done, total } = formatBytesPair('en-GB', 240_000, 48_100_000);
  assert.deepEqual([done, plain(total)], ['0.2', '48.1 MB']);
  const round = formatBytesPair('en-GB', 40_000_000, 40_000_000);
  assert.deepEqual([round.done, plain(round.total)], ['40.0', '40.0 MB']);
});

test('a percentage is complete only when it is', () => {
  assert.deepEqual(
    [-1, 0, 26.9, 99.99, 100, 140].map((percent) => formatPercent('en-GB', percent)),
    ['0%', '0%', '26%', '99%', '100%', '100%'],
  );
});
