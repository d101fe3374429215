import { systemClock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';
import { after } from '@station/kit/timers';
import type { AskedThread } from '../core/adapters/asked-thread.ts';
import type { PasswordHashes } from './password-hashes.ts';

/** One hash at a time, since each takes a processor and memory. */
export type Passwords = Pick<PasswordHashes, 'hash'> & {
  /**
   * Takes the same time whether or not there is a hash to compare with: null is a user that does not exist.
   * @param from known people come first, and always have a turn.
   * @throws (rejects) StationError `busy` when too many others wait.
   */
  matches(password: string, phc: string | null, from?: { isKnown: boolean }): Promise<boolean>;
};

/** `compareWith`: undefined asks for a hash. */
export type PasswordQuestion = { password: string; compareWith?: string | null };

/** Of people who are not known. A slow board needs some 40 s for them, with the rests. */
const maxWaiting = 50;
const retryAfterSeconds = 5;

export function createPasswords(hashes: PasswordHashes): Passwords {
  const inTurn = createTurns();
  return {
    hash: (password) => inTurn(true, () => hashes.hash(password)),
    matches: (password, phc, { isKnown } = { isKnown: true }) => inTurn(isKnown, () => hashes.matches(password, phc)),
  };
}

/**
 * In a thread of low priority, which the requests of everybody else do not wait for. Where it cannot run, as without memory for it, the hashes
 * are made here: people must be able to log in.
 */
export function threadedHashes(parts: {
  thread: AskedThread<PasswordQuestion, string | boolean>;
  hashes: PasswordHashes;
  logger: BackendLogger;
}): PasswordHashes {
  const { thread, hashes, logger } = parts;
  const answerHere = answerPasswordQuestion(hashes);
  const ask = async (question: PasswordQuestion): Promise<string | boolean> => {
    try {
      return await thread.ask(question);
    } catch (error) {
      logger.failed('thread of passwords', error);
      return answerHere(question);
    }
  };
  return {
    hash: async (password) => String(await ask({ password })),
    matches: async (password, phc) => (await ask({ password, compareWith: phc })) === true,
  };
}

/** What the thread does. */
export const answerPasswordQuestion =
  (hashes: PasswordHashes) =>
  async ({ password, compareWith }: PasswordQuestion): Promise<string | boolean> =>
    compareWith === undefined ? hashes.hash(password) : hashes.matches(password, compareWith);

type Turns = <T>(isKnown: boolean, action: () => Promise<T>) => Promise<T>;

/** After each action for somebody who is not known the next of them rests as long as it took: guesses get half of a processor at most. */
function createTurns(): Turns {
  let isTaken = false;
  let isResting = false;
  const known: (() => void)[] = [];
  const others: (() => void)[] = [];
  const passOn = (): void => {
    const next = known.shift() ?? (isResting ? undefined : others.shift());
    isTaken = next !== undefined;
    next?.();
  };
  const rest = (ms: number): void => {
    isResting = true;
    after(ms, () => {
      isResting = false;
      if (!isTaken) passOn();
    });
  };
  return async (isKnown, action) => {
    if (!isKnown && others.length >= maxWaiting) throw busy();
    if (isTaken || (isResting && !isKnown))
      await new Promise<void>((resolve) => (isKnown ? known : others).push(resolve));
    isTaken = true;
    const beganMs = systemClock.monotonic();
    try {
      return await action();
    } finally {
      if (!isKnown) rest(systemClock.monotonic() - beganMs);
      passOn();
    }
  };
}

const busy = (): StationError =>
  new StationError('busy', 'Too many people try to log in now. Try again in a moment.', {
    details: { retryAfterSeconds },
  });
