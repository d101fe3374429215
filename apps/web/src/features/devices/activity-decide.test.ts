import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byDay, dayName } from './activity-decide.ts';

const at = (day: number, hour: number): number => new Date(2026, 2, day, hour).getTime();
const entry = (day: number, hour: number) => ({ at: new Date(at(day, hour)).toISOString() });

test('entries are grouped by the days of the reader; a day comes twice when the clock was set back', () => {
  const entries = [entry(3, 9), entry(3, 0), entry(2, 23), entry(3, 1)];
  assert.deepEqual(
    byDay(entries).map((day) => [day.at, day.entries.length]),
    [
      [at(3, 0), 2],
      [at(2, 0), 1],
      [at(3, 0), 1],
    ],
  );
  assert.equal(new Set(byDay(entries).map(({ key }) => key)).size, 3);
  assert.deepEqual(byDay([]), []);
});

test('today and yesterday have words, also on the first of a month', () => {
  assert.equal(dayName(at(1, 0), at(1, 13)), 'today');
  assert.equal(dayName(new Date(2026, 1, 28).getTime(), at(1, 13)), 'yesterday');
  assert.equal(dayName(new Date(2026, 1, 27).getTime(), at(1, 13)), null);
  // The days before and after a change to summer time are not 24 hours long.
  assert.equal(dayName(at(29, 0), at(30, 0)), 'yesterday');
});
