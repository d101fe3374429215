import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answersUntilErased, decideLoginEnd, graceMs, type RemovalFacts } from './removal-decide.ts';

const at = 1_000_000;
const quiet: RemovalFacts = { now: at, isNowTrue: true, loginUntil: at + 1, answers: 0, answeredAt: null };
const answered: RemovalFacts = { ...quiet, answers: answersUntilErased, answeredAt: at - graceMs };

const cases: { story: string; facts: RemovalFacts; ends: ReturnType<typeof decideLoginEnd> }[] = [
  { story: 'it was not heard since', facts: quiet, ends: null },
  { story: '30 days are over', facts: { ...quiet, loginUntil: at }, ends: 'expired' },
  { story: '30 days are over by a wrong clock', facts: { ...quiet, isNowTrue: false, loginUntil: at }, ends: null },
  { story: 'it was answered often enough to erase itself', facts: answered, ends: 'unknown_device' },
  { story: 'the last answer may be on its way', facts: { ...answered, answeredAt: at - graceMs + 1 }, ends: null },
  { story: 'it was answered too seldom', facts: { ...answered, answers: answersUntilErased - 1 }, ends: null },
  {
    story: 'it was answered too seldom in 30 days',
    facts: { ...answered, answers: 1, loginUntil: at },
    ends: 'expired',
  },
];

for (const { story, facts, ends } of cases) {
  test(`${ends === null ? 'the login stays' : `the login ends (${ends})`}: ${story}`, () => {
    assert.equal(decideLoginEnd(facts), ends);
  });
}
