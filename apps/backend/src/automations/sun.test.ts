import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SunTime, Weekday } from '@station/protocol/automation-flow';
import { judge } from './flow-conditions.ts';
import { localTime } from '../core/local-time.ts';
import { nextSun, sunDays } from './sun.ts';

const places = {
  kyiv: { timeZone: 'Europe/Kyiv', place: { latitude: 50.45, longitude: 30.52 } },
  tromso: { timeZone: 'Europe/Oslo', place: { latitude: 69.65, longitude: 18.96 } },
  reykjavik: { timeZone: 'Atlantic/Reykjavik', place: { latitude: 64.15, longitude: -21.94 } },
  auckland: { timeZone: 'Pacific/Auckland', place: { latitude: -36.85, longitude: 174.76 } },
  kiritimati: { timeZone: 'Pacific/Kiritimati', place: { latitude: 1.87, longitude: -157.4 } },
  pole: { timeZone: 'UTC', place: { latitude: 90, longitude: 0 } },
} as const;
type Name = keyof typeof places;

const rise: SunTime = { event: 'sunrise' };
const set: SunTime = { event: 'sunset' };

/** The next times after this one, by the local clock. */
function dues(name: Name, sun: SunTime, after: string, count: number, days?: Weekday[]): string[] {
  const { timeZone } = places[name];
  const format = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  const times: string[] = [];
  let at = Date.parse(after);
  while (times.length < count) {
    const next = nextSun(sun, days, at, places[name]);
    if (next === null) return [...times, 'never'];
    times.push(format.format(next));
    at = next;
  }
  return times;
}

test('sunrise and sunset are due each day, by the clock of the place, also where the clock changes', () => {
  // The expected times are those of astronomy-engine 2.1.19, another library; near polar days both differ by half a minute.
  const rows: [Name, SunTime, after: string, expected: string[]][] = [
    ['kyiv', rise, '2026-06-20T12:00Z', ['2026-06-21 04:46', '2026-06-22 04:46']],
    ['kyiv', set, '2026-12-21T00:00Z', ['2026-12-21 15:56', '2026-12-22 15:56']],
    // Summer time begins in the night to the 29th, and ends in the night to the 25th.
    ['kyiv', rise, '2026-03-27T12:00Z', ['2026-03-28 05:43', '2026-03-29 06:41', '2026-03-30 06:39']],
    ['kyiv', set, '2026-10-23T16:00Z', ['2026-10-24 17:48', '2026-10-25 16:46', '2026-10-26 16:44']],
    ['auckland', rise, '2026-06-20T12:00Z', ['2026-06-21 07:33']],
    ['auckland', set, '2026-09-26T00:00Z', ['2026-09-26 18:20', '2026-09-27 19:21']],
    // 14 hours ahead of UTC, at the longitude of Hawaii.
    ['kiritimati', rise, '2026-06-20T00:00Z', ['2026-06-21 06:24', '2026-06-22 06:24']],
    // The sun sets after midnight, by the clock: it is still the sunset of the 21st.
    ['reykjavik', set, '2026-06-21T12:00Z', ['2026-06-22 00:04']],
  ];
  for (const [name, sun, after, expected] of rows) {
    assert.deepEqual(dues(name, sun, after, expected.length), expected, `${name} ${sun.event} ${after}`);
  }
});

test('an offset moves it, also over midnight, and none is due twice', () => {
  const rows: [Name, SunTime, after: string, expected: string[]][] = [
    ['kyiv', { ...set, offsetMinutes: -30 }, '2026-12-21T00:00Z', ['2026-12-21 15:26', '2026-12-22 15:26']],
    ['kyiv', { ...set, offsetMinutes: 360 }, '2026-06-20T12:00Z', ['2026-06-21 03:13', '2026-06-22 03:13']],
    ['kyiv', { ...rise, offsetMinutes: -360 }, '2026-06-20T12:00Z', ['2026-06-20 22:46', '2026-06-21 22:46']],
    ['reykjavik', { ...set, offsetMinutes: -10 }, '2026-06-20T12:00Z', ['2026-06-20 23:53', '2026-06-21 23:54']],
  ];
  for (const [name, sun, after, expected] of rows) {
    assert.deepEqual(dues(name, sun, after, expected.length), expected, `${name} ${after}`);
  }
});

test('days are those of the noon between sunrise and sunset', () => {
  assert.deepEqual(dues('kyiv', set, '2026-11-21T00:00Z', 3, ['mon', 'sun']), [
    '2026-11-22 16:04',
    '2026-11-23 16:03',
    '2026-11-29 15:58',
  ]);
  // The sunset of Sunday, a few minutes into Monday.
  assert.deepEqual(dues('reykjavik', set, '2026-06-18T12:00Z', 1, ['sun']), ['2026-06-22 00:04']);
});

test('where the sun does not rise or set, it is due again when it does', () => {
  assert.deepEqual(dues('tromso', set, '2026-05-16T12:00Z', 2), ['2026-05-17 00:03', '2026-05-18 00:28']);
  assert.equal(dues('tromso', set, '2026-06-01T12:00Z', 1)[0]?.slice(0, 7), '2026-07', 'after the polar day');
  assert.deepEqual(dues('tromso', rise, '2026-12-01T12:00Z', 1), ['2027-01-15 11:35'], 'after the polar night');
  // At the pole no day has both.
  assert.deepEqual(dues('pole', set, '2026-01-01T00:00Z', 1), ['never']);
});

const met = (name: Name, at: string, from: string | SunTime, to: string | SunTime, days?: Weekday[]): boolean => {
  const { timeZone, place } = places[name];
  const now = Date.parse(at);
  const facts = { state: null, time: localTime(now, timeZone), sun: sunDays(now, timeZone, place) };
  return judge({ kind: 'time_range', config: { from, to, ...(days && { days }) } }, facts).met;
};

test('a range follows the sun through the year', () => {
  const rows: [string, Name, from: string | SunTime, to: string | SunTime, at: string, expected: boolean][] = [
    ['before sunset', 'kyiv', set, rise, '2026-12-21T13:55Z', false],
    ['after sunset', 'kyiv', set, rise, '2026-12-21T13:57Z', true],
    ['the night', 'kyiv', set, rise, '2026-12-21T23:00Z', true],
    ['the morning', 'kyiv', set, rise, '2026-12-22T05:55Z', true],
    ['after sunrise', 'kyiv', set, rise, '2026-12-22T05:57Z', false],
    ['the day', 'kyiv', rise, set, '2026-06-21T18:12Z', true],
    ['after the day', 'kyiv', rise, set, '2026-06-21T18:14Z', false],
    ['with an offset', 'kyiv', { ...set, offsetMinutes: -30 }, rise, '2026-12-21T13:27Z', true],
    ['around sunset', 'kyiv', { ...set, offsetMinutes: -30 }, { ...set, offsetMinutes: 30 }, '2026-12-21T14:20Z', true],
    ['not around', 'kyiv', { ...set, offsetMinutes: -30 }, { ...set, offsetMinutes: 30 }, '2026-12-21T15:00Z', false],
    ['a summer evening', 'kyiv', '20:00', set, '2026-06-21T17:30Z', true],
    ['no evening in winter', 'kyiv', '20:00', set, '2026-12-21T18:30Z', false],
    ['nor next morning', 'kyiv', '20:00', set, '2026-12-21T08:00Z', false],
    ['a dark morning', 'kyiv', '06:00', rise, '2026-12-21T05:00Z', true],
    ['no dark morning in summer', 'kyiv', '06:00', rise, '2026-06-21T04:00Z', false],
    ['from dusk until late', 'kyiv', set, '01:00', '2026-12-21T22:30Z', true],
    ['not later', 'kyiv', set, '01:00', '2026-12-21T23:30Z', false],
    ['before late sunset', 'kyiv', set, '21:00', '2026-06-21T17:30Z', false],
    ['and after it there is nothing left', 'kyiv', set, '21:00', '2026-06-21T18:30Z', false],
    // Summer time ends: the local clock shows an hour less.
    ['the evening of the change', 'kyiv', set, rise, '2026-10-25T14:47Z', true],
    ['just before it', 'kyiv', set, rise, '2026-10-25T14:45Z', false],
    ['a sunset after midnight', 'reykjavik', '22:00', { ...set, offsetMinutes: 30 }, '2026-06-22T00:20Z', true],
    ['its short night', 'reykjavik', set, rise, '2026-06-22T01:00Z', true],
    ['polar night at midnight', 'tromso', set, rise, '2026-12-21T23:00Z', true],
    ['polar night at noon', 'tromso', set, rise, '2026-12-21T11:30Z', true],
    ['polar night in the morning', 'tromso', set, rise, '2026-12-21T08:00Z', true],
    ['polar night has no day', 'tromso', rise, set, '2026-12-21T10:42Z', false],
    ['an offset makes none', 'tromso', { ...rise, offsetMinutes: -60 }, set, '2026-12-21T10:00Z', false],
    ['polar day at midnight', 'tromso', set, rise, '2026-06-21T22:00Z', false],
    ['polar day at noon', 'tromso', rise, set, '2026-06-21T10:00Z', true],
    ['polar day by night', 'tromso', rise, set, '2026-06-21T23:30Z', true],
    ['an offset makes no night', 'tromso', { ...set, offsetMinutes: -60 }, rise, '2026-06-21T22:30Z', false],
  ];
  for (const [what, name, from, to, at, expected] of rows) assert.equal(met(name, at, from, to), expected, what);
});

test('the weekday of a night is that of its evening', () => {
  // 2026-11-20 is a Friday.
  const night = (at: string): boolean => met('kyiv', at, set, rise, ['fri']);
  assert.deepEqual(['2026-11-20T02:00Z', '2026-11-20T20:00Z', '2026-11-21T02:00Z', '2026-11-21T20:00Z'].map(night), [
    false,
    true,
    true,
    false,
  ]);
});

test('without a place no range with the sun is met, and the record says why', () => {
  const facts = { state: null, time: { weekday: 'mon', minutes: 1_200 }, sun: null } as const;
  const { met, detail } = judge({ kind: 'time_range', config: { from: set, to: rise } }, facts);
  assert.deepEqual([met, detail], [false, 'It was mon 20:00; the place of the station is not set.']);
});

test('the record of a range shows the bounds of that day', () => {
  const { timeZone, place } = places.kyiv;
  const now = Date.parse('2026-12-21T15:00Z');
  const facts = { state: null, time: localTime(now, timeZone), sun: sunDays(now, timeZone, place) };
  const { seen } = judge({ kind: 'time_range', config: { from: set, to: '23:00' } }, facts);
  assert.deepEqual(seen, { time: '17:00', weekday: 'mon', from: '15:56' });
});
