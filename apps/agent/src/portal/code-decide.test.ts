import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decideAccess, freeCodes, type Guesses, guessesAtStart, judgeCode, needsOf, pauseMs } from './code-decide.ts';

describe('the page asks for', () => {
  const cases: [string, { isOpen: boolean; wasEverJoined: boolean }, { code: boolean; confirmation: boolean }][] = [
    ['nothing on an encrypted hotspot', { isOpen: false, wasEverJoined: true }, { code: false, confirmation: false }],
    ['nothing there for a new station', { isOpen: false, wasEverJoined: false }, { code: false, confirmation: false }],
    ['no code for a new station', { isOpen: true, wasEverJoined: false }, { code: false, confirmation: true }],
    ['both for a station in use', { isOpen: true, wasEverJoined: true }, { code: true, confirmation: true }],
  ];
  for (const [name, view, expected] of cases) it(name, () => assert.deepEqual(needsOf(view), expected));
});

describe('a form', () => {
  const both = { code: true, confirmation: true };
  const confirmation = { code: false, confirmation: true };
  const cases: [string, { code: boolean; confirmation: boolean }, { code: string; isConfirmed: boolean }, string][] = [
    [
      'counts at once when nothing is needed',
      { code: false, confirmation: false },
      { code: '', isConfirmed: false },
      'ok',
    ],
    ['counts with the confirmation', confirmation, { code: '', isConfirmed: true }, 'ok'],
    ['needs the confirmation', confirmation, { code: 'ABC', isConfirmed: false }, 'not_confirmed'],
    ['needs the code', both, { code: '', isConfirmed: true }, 'code_missing'],
    ['needs more than spaces for a code', both, { code: '  ', isConfirmed: true }, 'code_missing'],
    ['needs the code before the confirmation', both, { code: '', isConfirmed: false }, 'code_missing'],
    ['uses up no try without the confirmation', both, { code: 'ABC', isConfirmed: false }, 'not_confirmed'],
    ['with both has its code checked', both, { code: 'ABC', isConfirmed: true }, 'check_code'],
  ];
  for (const [name, needs, typed, expected] of cases) {
    it(name, () => {
      const access = decideAccess(needs, typed);
      assert.equal(access.kind === 'refused' ? access.problem : access.kind, expected);
    });
  }
});

describe('codes', () => {
  const wrong = (guesses: Guesses, nowMs: number) => judgeCode(guesses, { nowMs, isRight: false });
  const right = (guesses: Guesses, nowMs: number) => judgeCode(guesses, { nowMs, isRight: true });
  const closed: Guesses = { wrong: freeCodes, openMs: 1000 + pauseMs };

  it('may be wrong five times, then wait', () => {
    let guesses = guessesAtStart(0, 1000);
    const verdicts = [];
    for (let count = 0; count < 6; count += 1) {
      const judged = wrong(guesses, 1000);
      verdicts.push(judged.verdict);
      ({ guesses } = judged);
    }
    assert.deepEqual(verdicts, [
      ...[4, 3, 2, 1].map((left) => ({ kind: 'wrong', left, retryInMs: 0 })),
      { kind: 'wrong', left: 0, retryInMs: pauseMs },
      { kind: 'closed', retryInMs: pauseMs },
    ]);
    assert.deepEqual(guesses, closed);
  });

  it('do not count in the pause, not even a right one, and do not prolong it', () => {
    assert.deepEqual(right(closed, 999 + pauseMs), { verdict: { kind: 'closed', retryInMs: 1 }, guesses: closed });
    assert.deepEqual(wrong(closed, 1000).guesses, closed);
  });

  it('after the pause are tried once each pause', () => {
    const { verdict, guesses } = wrong(closed, 1000 + pauseMs);
    assert.deepEqual(verdict, { kind: 'wrong', left: 0, retryInMs: pauseMs });
    assert.deepEqual(guesses, { wrong: freeCodes + 1, openMs: 1000 + 2 * pauseMs });
    assert.equal(wrong(guesses, 1001 + pauseMs).verdict.kind, 'closed');
  });

  it('that are right reset the count', () => {
    const { verdict, guesses } = right(closed, 1000 + pauseMs);
    assert.equal(verdict.kind, 'right');
    assert.deepEqual(wrong(guesses, 1000 + pauseMs).verdict, { kind: 'wrong', left: freeCodes - 1, retryInMs: 0 });
  });

  it('get no further try by a restart', () => {
    assert.equal(wrong(guessesAtStart(freeCodes, 5), 5).verdict.kind, 'closed');
    assert.deepEqual(wrong(guessesAtStart(freeCodes - 1, 5), 5).verdict, {
      kind: 'wrong',
      left: 0,
      retryInMs: pauseMs,
    });
    assert.equal(right(guessesAtStart(freeCodes, 5), 5 + pauseMs).verdict.kind, 'right');
  });
});
