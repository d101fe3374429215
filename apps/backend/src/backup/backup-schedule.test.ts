import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nightDue } from './backup-schedule.ts';

const time = (text: string): number => Date.parse(`${text}Z`);
const kyiv = 'Europe/Kyiv';

for (const { name, done, tried = done, now, isDue } of [
  { name: 'before its time', done: '2026-11-22T01:00', now: '2026-11-23T00:59', isDue: false },
  { name: 'at 03:00 in Kyiv, which is 01:00 in UTC', done: '2026-11-22T01:00', now: '2026-11-23T01:00', isDue: true },
  { name: 'once a night', done: '2026-11-23T01:00', now: '2026-11-23T06:00', isDue: false },
  {
    name: 'after a missed night, when the station runs again',
    done: '2026-11-20T01:00',
    now: '2026-11-23T15:30',
    isDue: true,
  },
  {
    name: 'not at once after a failure',
    done: '2026-11-22T01:00',
    tried: '2026-11-23T01:00',
    now: '2026-11-23T01:59',
    isDue: false,
  },
  {
    name: 'an hour after a failure',
    done: '2026-11-22T01:00',
    tried: '2026-11-23T01:00',
    now: '2026-11-23T02:00',
    isDue: true,
  },
  {
    name: 'at a time that the change to summer time skips',
    done: '2026-03-28T01:00',
    now: '2026-03-29T01:00',
    isDue: true,
  },
  { name: 'not twice in the repeated hour of autumn', done: '2026-10-25T00:00', now: '2026-10-25T01:30', isDue: false },
]) {
  test(`${isDue ? 'due' : 'not due'}: ${name}`, () => {
    const state = { doneAt: time(done), triedAt: time(tried), trouble: null };
    assert.equal(nightDue(state, { at: '03:00', timeZone: kyiv, now: time(now) }).isDue, isDue);
  });
}

test('a clock that was set back by years delays the next night by a day at most', () => {
  const state = { doneAt: time('2035-01-01T01:00'), triedAt: time('2035-01-01T01:00'), trouble: null };
  const first = nightDue(state, { at: '03:00', timeZone: kyiv, now: time('2026-11-23T12:00') });
  assert.equal(first.isDue, false);
  assert.equal(nightDue(first.state, { at: '03:00', timeZone: kyiv, now: time('2026-11-24T01:00') }).isDue, true);
});

test('an unknown time zone counts as UTC', () => {
  const state = { doneAt: time('2026-11-22T03:00'), triedAt: 0, trouble: null };
  const at = (now: string) => nightDue(state, { at: '03:00', timeZone: 'No/Where', now: time(now) }).isDue;
  assert.deepEqual([at('2026-11-23T02:59'), at('2026-11-23T03:00')], [false, true]);
});
