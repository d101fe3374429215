import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPasswords } from './passwords.ts';

test('many guesses at once keep nobody who is known from a turn', async () => {
  const passwords = createPasswords();
  const hash = await passwords.hash('the right one');
  let ended = 0;
  const guesses = Array.from({ length: 200 }, () =>
    passwords.matches('a guess', hash, { isKnown: false }).then(
      (matches) => {
        ended += 1;
        return String(matches);
      },
      (error: unknown) => (error as { code: string }).code,
    ),
  );
  assert.equal(await passwords.matches('the right one', hash, { isKnown: true }), true);
  assert.ok(ended < 52, 'it did not wait for all of them');
  const results = await Promise.all(guesses);
  assert.equal(results.filter((result) => result === 'busy').length, 148);
  assert.equal(results.filter((result) => result === 'false').length, 52);
});
