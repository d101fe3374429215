import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ArmedTrigger } from './registry.ts';
import { createSchedulePlan, cronProblem, nextDue } from './schedule.ts';

const zone = { timeZone: 'Europe/Kyiv', place: null };
const utc = { timeZone: 'UTC', place: null };
function dues(schedule: Parameters<typeof nextDue>[0], after: string, count: number): string[] {
  const times: string[] = [];
  for (let at: number | null = Date.parse(after); times.length < count;) {
    at = nextDue(schedule, at, zone);
    if (at === null) break;
    times.push(new Date(at).toISOString().slice(5, 16));
  }
  return times;
}

test('a time of day is the local time, in summer and winter', () => {
  assert.deepEqual(dues({ time: '07:00' }, '2026-03-28T00:00:00Z', 2), ['03-28T05:00', '03-29T04:00']);
  assert.deepEqual(dues({ time: '07:00' }, '2026-10-24T00:00:00Z', 2), ['10-24T04:00', '10-25T05:00']);
  assert.deepEqual(dues({ time: '07:00', days: ['mon', 'sun'] }, '2026-11-21T00:00:00Z', 3), [
    '11-22T05:00',
    '11-23T05:00',
    '11-29T05:00',
  ]);
});

test('a time skipped by the change to summer time is due at the change; a repeated time is due once', () => {
  assert.deepEqual(dues({ time: '03:30' }, '2026-03-28T02:00:00Z', 2), ['03-29T01:00', '03-30T00:30']);
  assert.deepEqual(dues({ time: '03:30' }, '2026-10-24T02:00:00Z', 2), ['10-25T00:30', '10-26T01:30']);
  assert.deepEqual(dues({ cron: '30 3,15 * * *' }, '2026-10-24T14:00:00Z', 2), ['10-25T00:30', '10-25T13:30']);
});

test('a time of day is due once on each date, around each change of the clock in every zone of 2026 and 2027', () => {
  const times = ['00:00', '00:15', '01:00', '01:30', '02:00', '02:30', '03:00', '03:30', '23:30', '23:59'];
  const faults: string[] = [];
  let changes = 0;
  for (const timeZone of Intl.supportedValuesOf('timeZone')) {
    const end = Temporal.ZonedDateTime.from(`2028-01-01T00:00[${timeZone}]`);
    let change = Temporal.ZonedDateTime.from(`2026-01-01T00:00[${timeZone}]`).getTimeZoneTransition('next');
    for (; change !== null && change.epochMilliseconds < end.epochMilliseconds;) {
      changes += 1;
      const before = change.subtract({ nanoseconds: 1 }).toPlainDate();
      for (const time of times) faults.push(...wrongDues(time, before.subtract({ days: 1 }), timeZone));
      change = change.getTimeZoneTransition('next');
    }
  }
  assert.ok(changes > 400, String(changes));
  assert.deepEqual(faults, []);
});

/** Four dates of the calendar, one after another: the due is the first moment at which the clock shows the time or a later one, or the end of the date. */
function wrongDues(time: string, first: Temporal.PlainDate, timeZone: string): string[] {
  const where = { timeZone, place: null };
  const localOf = (ms: number): Temporal.PlainDateTime =>
    Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone).toPlainDateTime();
  let at = first.toZonedDateTime({ timeZone, plainTime: time }).epochMilliseconds - 1;
  const faults: string[] = [];
  for (let day = 0; day < 4; day += 1) {
    const date = first.add({ days: day });
    const target = date.toPlainDateTime(time);
    const due = nextDue({ time }, at, where) ?? 0;
    const isReached = Temporal.PlainDateTime.compare(localOf(due), target) >= 0;
    const isFirst = Temporal.PlainDateTime.compare(localOf(due - 1), target) < 0;
    const isOnDate = localOf(due).toPlainDate().equals(date);
    const isEnd =
      isOnDate &&
      !localOf(due + 1_000)
        .toPlainDate()
        .equals(date);
    if (!isOnDate || !(isReached || isEnd) || !isFirst)
      faults.push(`${timeZone} ${date.toString()} ${time}: ${localOf(due).toString()}`);
    at = due;
  }
  return faults;
}

test('a time that is skipped together with the end of its date is due in the last second before the change', () => {
  const nuuk = { timeZone: 'America/Nuuk', place: null };
  const noon = Date.parse('2026-03-28T12:00:00Z');
  const change = Date.parse('2026-03-29T01:00:00Z') - 1_000;
  assert.equal(nextDue({ time: '23:30' }, noon, nuuk), change);
  assert.equal(nextDue({ cron: '15,45 23 * * *' }, noon, nuuk), change);
  assert.equal(nextDue({ cron: '15,45 23 * * *' }, change, nuuk), Date.parse('2026-03-30T00:15:00Z'));
  assert.equal(nextDue({ time: '23:30', days: ['sat'] }, noon, nuuk), change);
  // A date that the zone left out: 30 December 2011 of Samoa.
  const samoa = { timeZone: 'Pacific/Apia', place: null };
  assert.equal(
    nextDue({ time: '12:00' }, Date.parse('2011-12-30T00:00:00Z'), samoa),
    Date.parse('2011-12-30T10:00:00Z'),
  );
});

test('times within a given hour run once at the change that skips it, and once each when it comes twice', () => {
  const halves = { cron: '*/30 3 * * *' };
  assert.deepEqual(dues(halves, '2026-03-28T02:00:00Z', 3), ['03-29T01:00', '03-30T00:00', '03-30T00:30']);
  assert.deepEqual(dues(halves, '2026-10-24T02:00:00Z', 3), ['10-25T00:00', '10-25T00:30', '10-26T01:00']);
});

test('an interval in minutes stays the same through both clock changes', () => {
  const half = { cron: '*/30 * * * *' };
  assert.deepEqual(dues(half, '2026-03-29T00:10:00Z', 3), ['03-29T00:30', '03-29T01:00', '03-29T01:30']);
  assert.deepEqual(dues(half, '2026-10-25T00:10:00Z', 4), ['10-25T00:30', '10-25T01:00', '10-25T01:30', '10-25T02:00']);
});

test('a cron expression has five fields and must be due on some day', () => {
  assert.equal(cronProblem('0 7 * * 1-5'), null);
  for (const bad of ['* * * * * *', '60 * * * *', 'x', '@daily x']) assert.ok(cronProblem(bad)?.includes('five'), bad);
  assert.match(cronProblem('0 0 31 2 *') ?? '', /never/);
});

const seven = (publishedAt = 0): ArmedTrigger => ({
  automation: { id: 'one', name: 'One', mode: 'restart', flow: { nodes: [], edges: [] }, publishedAt },
  nodeId: 't',
  data: { kind: 'schedule', config: { time: '07:00' } },
});
const at = (time: string): number => Date.parse(`2026-11-21T${time}Z`);

test('a schedule starts one run when it is due; more than a minute late, it is skipped', () => {
  const plan = createSchedulePlan();
  const take = (time: string) =>
    plan.take([seven()], at(time), zone).map(({ start, isMissed }) => [start.cause, isMissed]);
  const cause = 'schedule t 2026-11-21T05:00:00.000Z';
  assert.deepEqual(take('04:59:00'), []);
  assert.equal(plan.next(), at('05:00:00'));
  assert.deepEqual(take('05:00:01'), [[cause, false]]);
  assert.deepEqual(take('05:00:02'), []);
  const late = createSchedulePlan();
  assert.deepEqual(late.take([seven()], at('04:59:00'), zone), []);
  assert.deepEqual(
    late.take([seven()], at('05:01:01'), zone).map(({ isMissed }) => isMissed),
    [true],
  );
});

test('after a start or a new leader, schedules due within the last minute run, unless published later', () => {
  const count = (trigger: ArmedTrigger, time: string): number =>
    createSchedulePlan().take([trigger], at(time), zone).length;
  assert.deepEqual([count(seven(), '05:00:30'), count(seven(), '05:01:30')], [1, 0]);
  assert.equal(count(seven(at('05:00:10')), '05:00:30'), 0);
});

test('setting the clock back, a new time zone or changed automations cause a new plan', () => {
  const plan = createSchedulePlan();
  plan.take([seven()], at('05:10:00'), zone);
  assert.equal(plan.next(), Date.parse('2026-11-22T05:00:00Z'));
  plan.take([seven()], at('04:00:00'), zone);
  assert.equal(plan.next(), at('05:00:00'));
  plan.take([seven()], at('04:00:01'), utc);
  assert.equal(plan.next(), at('07:00:00'));
  plan.take([], at('04:00:02'), utc);
  assert.equal(plan.next(), null);
});

const kyiv = { timeZone: 'Europe/Kyiv', place: { latitude: 50.45, longitude: 30.52 } };
const sunset = (publishedAt = 0): ArmedTrigger => ({
  ...seven(publishedAt),
  data: { kind: 'schedule', config: { sun: { event: 'sunset' } } },
});

test('sunset starts one run, and without a place none', () => {
  const plan = createSchedulePlan();
  // Sunset in Kyiv on this day: 16:05.
  assert.deepEqual(plan.take([sunset()], at('12:00:00'), zone), []);
  assert.equal(plan.next(), null);
  plan.take([sunset()], at('12:00:01'), kyiv);
  const due = plan.next() ?? 0;
  assert.equal(new Date(due).toISOString().slice(0, 16), '2026-11-21T14:05');
  const [first, ...more] = plan.take([sunset()], due, kyiv);
  assert.deepEqual(
    [first?.start.cause, first?.isMissed, more],
    [`schedule t ${new Date(due).toISOString()}`, false, []],
  );
  assert.deepEqual(plan.take([sunset()], due + 1_000, kyiv), []);
  assert.equal(new Date(plan.next() ?? 0).toISOString().slice(0, 16), '2026-11-22T14:04');
});

test('a clock that becomes right after sunset has missed it, and one that was ahead has it once more', () => {
  // The station begins with the time of its last row, in the morning; NTP answers in the evening.
  const behind = createSchedulePlan();
  behind.take([sunset()], at('06:00:00'), kyiv);
  assert.deepEqual(
    behind.take([sunset()], at('20:00:00'), kyiv).map(({ isMissed }) => isMissed),
    [true],
  );
  const ahead = createSchedulePlan();
  ahead.take([sunset()], Date.parse('2030-06-01T06:00:00Z'), kyiv);
  assert.deepEqual(ahead.take([sunset(Date.parse('2030-06-01T06:00:00Z'))], at('06:00:00'), kyiv), []);
  assert.equal(new Date(ahead.next() ?? 0).toISOString().slice(0, 16), '2026-11-21T14:05');
});
