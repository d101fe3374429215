import type { PortalView } from '../core/hotspot-ports.ts';

/** What a form of the page must have before anything in it counts. */
type Needs = {
  /** The code of the station: with an open hotspot everybody near it may send a form. */
  code: boolean;
  /** That the person knows that others can read the form. */
  confirmation: boolean;
};

/** A new station asks for no code: nobody can lose it yet. */
export const needsOf = ({ isOpen, wasEverJoined }: Pick<PortalView, 'isOpen' | 'wasEverJoined'>): Needs => ({
  code: isOpen && wasEverJoined,
  confirmation: isOpen,
});

export const accessProblems = ['code_missing', 'code_wrong', 'code_closed', 'not_confirmed'] as const;
export type AccessProblem = (typeof accessProblems)[number];

/** What is typed beside the network and its password. */
export type Typed = { code: string; isConfirmed: boolean };

export const nothingTyped: Typed = { code: '', isConfirmed: false };

/** No code is longer with its spaces and dashes. */
export const longestCode = 64;

export const readTyped = (form: ReadonlyMap<string, string>): Typed => ({
  code: (form.get('code') ?? '').slice(0, longestCode),
  isConfirmed: form.get('confirm') === 'yes',
});

type Access = { kind: 'ok' } | { kind: 'check_code' } | { kind: 'refused'; problem: AccessProblem };

/** Whether a form may count. A form that is incomplete uses up no try of the code. */
export function decideAccess(needs: Needs, { code, isConfirmed }: Typed): Access {
  if (needs.code && code.trim() === '') return { kind: 'refused', problem: 'code_missing' };
  if (needs.confirmation && !isConfirmed) return { kind: 'refused', problem: 'not_confirmed' };
  return { kind: needs.code ? 'check_code' : 'ok' };
}

/** Wrong codes since the last right one, of all phones together: an address of a phone is easy to change. */
export type Guesses = {
  wrong: number;
  /** Monotonic time from which the next code counts. */
  openMs: number;
};

/** Codes that may be wrong one after another. */
export const freeCodes = 5;
/** After them one code counts in this time: the owner still gets in, and a guesser needs thousands of years. */
export const pauseMs = 10 * 60_000;

/** A restart gives no further try. */
export const guessesAtStart = (wrong: number, nowMs: number): Guesses => ({
  wrong,
  openMs: wrong >= freeCodes ? nowMs + pauseMs : nowMs,
});

export type CodeVerdict =
  | { kind: 'right' }
  /** `left`: codes that count before the pause. */
  | { kind: 'wrong'; left: number; retryInMs: number }
  /** Not compared. */
  | { kind: 'closed'; retryInMs: number };

export function judgeCode(
  guesses: Guesses,
  { nowMs, isRight }: { nowMs: number; isRight: boolean },
): { verdict: CodeVerdict; guesses: Guesses } {
  if (nowMs < guesses.openMs) return { verdict: { kind: 'closed', retryInMs: guesses.openMs - nowMs }, guesses };
  if (isRight) return { verdict: { kind: 'right' }, guesses: { wrong: 0, openMs: nowMs } };
  const wrong = guesses.wrong + 1;
  const left = Math.max(0, freeCodes - wrong);
  const retryInMs = left > 0 ? 0 : pauseMs;
  return { verdict: { kind: 'wrong', left, retryInMs }, guesses: { wrong, openMs: nowMs + retryInMs } };
}
