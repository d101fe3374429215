import { answerQuestions } from './core/adapters/asked-thread.ts';
import { createPasswordHashes } from './people/password-hashes.ts';
import { answerPasswordQuestion, type PasswordQuestion } from './people/passwords.ts';

/** What the thread of `people/passwords.ts` does. */
answerQuestions<PasswordQuestion, string | boolean>({
  // A flood of guesses takes no processor that requests need.
  niceness: 10,
  open: () => answerPasswordQuestion(createPasswordHashes()),
  given: () => [],
});
