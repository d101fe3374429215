import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPasswords, isBcrypt } from './passwords.ts';

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

/** Of other implementations: jBCrypt's tests, and Apache's htpasswd (`$2y$`). */
const foreign = [
  ['a', '$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe'],
  ['abc', '$2a$06$If6bvum7DFjUnE9p2uDeDu0YHzrHM6tf.iqN8.yx.jNN1ILEf7h0i'],
  ['correct horse battery', '$2y$10$6gPpWg/9f06wYIScORtXGec4Cab5j8LgQz9lkpftU88zRcM9lLCmu'],
] as const;

test('hashes of bcrypt are compared, up to a cost of 12', async () => {
  const passwords = createPasswords();
  for (const [password, hash] of foreign) {
    assert.equal(await passwords.matches(password, hash), true, hash);
    assert.equal(await passwords.matches(`${password}x`, hash), false, hash);
    assert.ok(isBcrypt(hash));
  }
  const [[, known]] = foreign;
  for (const hash of [known.replace('$06$', '$13$'), known.replace('$06$', '$31$'), known.slice(0, -1), `${known}x`]) {
    assert.equal(isBcrypt(hash), false, hash);
    assert.equal(await passwords.matches('a', hash), false, hash);
  }
  assert.equal(isBcrypt(await passwords.hash('a')), false);
});
