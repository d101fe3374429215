import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ClockFacts, type ClockTrust, decideClock, isReasonableTime, jumpMs } from './clock-decide.ts';

const byNtp: ClockTrust = { bootId: 'a', source: 'ntp', offsetMs: 1_000_000 };
const byPerson: ClockTrust = { ...byNtp, source: 'person' };
const facts: ClockFacts = { bootId: 'a', offsetMs: 1_000_000, isNtpSynchronized: false, kept: null };

const cases: { story: string; facts: ClockFacts; trust: ClockTrust | null }[] = [
  { story: 'NTP is synchronised', facts: { ...facts, isNtpSynchronized: true }, trust: byNtp },
  { story: 'nobody set it', facts, trust: null },
  { story: 'the system does not tell', facts: { ...facts, isNtpSynchronized: null }, trust: null },
  { story: 'NTP was lost, the clock only drifts', facts: { ...facts, kept: byNtp }, trust: byNtp },
  { story: 'a person set it', facts: { ...facts, kept: byPerson }, trust: byPerson },
  {
    story: 'it drifts',
    facts: { ...facts, offsetMs: 1_000_000 + jumpMs, kept: byPerson },
    trust: { ...byPerson, offsetMs: 1_000_000 + jumpMs },
  },
  { story: 'it jumped', facts: { ...facts, offsetMs: 1_000_001 + jumpMs, kept: byPerson }, trust: null },
  { story: 'it jumped back', facts: { ...facts, offsetMs: 999_999 - jumpMs, kept: byNtp }, trust: null },
  { story: 'the machine restarted', facts: { ...facts, bootId: 'b', kept: byPerson }, trust: null },
  {
    story: 'NTP corrected what a person set',
    facts: { ...facts, isNtpSynchronized: true, kept: byPerson },
    trust: byNtp,
  },
];

for (const { story, facts: given, trust } of cases) {
  test(`the clock is ${trust === null ? 'not known to be right' : 'right'}: ${story}`, () =>
    assert.deepEqual(decideClock(given), trust));
}

test('the clock is set within reason only', () => {
  const times = ['1970-01-01', '2025-12-31', '2026-01-01', '2055-12-31', '2056-01-01', '9999-12-31'];
  assert.deepEqual(
    times.filter((time) => isReasonableTime(Date.parse(`${time}T12:00:00Z`))),
    ['2026-01-01', '2055-12-31'],
  );
});
