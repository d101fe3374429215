import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byDay, dayName, isMidnight } from './activity-decide.ts';

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

test('days have their names where a clock changes at midnight, by half an hour or by a day', () => {
  const zone = process.env['TZ'];
  try {
    for (const [timeZone, yesterday, today] of [
      ['Africa/Cairo', '2026-04-23T20:00Z', '2026-04-24T10:00Z'], // today begins at 1:00
      ['Africa/Cairo', '2026-04-24T10:00Z', '2026-04-25T10:00Z'],
      ['Africa/Cairo', '2026-10-29T10:00Z', '2026-10-30T10:00Z'],
      ['Europe/Kyiv', '2026-10-24T21:30Z', '2026-10-25T23:30Z'],
      ['Australia/Lord_Howe', '2026-04-03T14:00Z', '2026-04-05T13:00Z'],
      ['Asia/Kolkata', '2026-03-27T18:30Z', '2026-03-28T18:30Z'],
      ['Pacific/Apia', '2011-12-30T09:00Z', '2011-12-30T11:00Z'], // from the 29th to the 31st
    ] as const) {
      process.env['TZ'] = timeZone;
      const day = byDay([{ at: yesterday }])[0];
      assert.ok(day);
      assert.equal(dayName(day.at, Date.parse(today)), 'yesterday', `${timeZone} ${yesterday}`);
      assert.equal(dayName(day.at, Date.parse(yesterday)), 'today', timeZone);
      assert.equal(isMidnight(day.at), true, timeZone);
      assert.equal(isMidnight(day.at + 1_800_000), false, timeZone);
    }
  } finally {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  }
});
