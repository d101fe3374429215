import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pause } from '@station/kit/timers';
import { recordedLog } from '../../testing/recorded-log.ts';
import { createAskedThread } from '../core/adapters/asked-thread.ts';
import { createPasswordHashes, isBcrypt } from './password-hashes.ts';
import { createPasswords, type PasswordQuestion, threadedHashes } from './passwords.ts';

test('many guesses at once keep nobody who is known from a turn', async () => {
  const passwords = createPasswords(createPasswordHashes({ memory: 4_096, passes: 1, parallelism: 1 }));
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
  assert.ok(ended < 51, 'it did not wait for all of them');
  const results = await Promise.all(guesses);
  assert.equal(results.filter((result) => result === 'busy').length, 149);
  assert.equal(results.filter((result) => result === 'false').length, 51);
});

test('after a guess the next one rests as long as it took, and somebody who is known does not wait for it', async () => {
  const begun: string[] = [];
  const tookMs = 60;
  const hashes = {
    hash: async () => 'a hash',
    matches: async (password: string) => {
      begun.push(password);
      await pause(tookMs);
      return false;
    },
  };
  const passwords = createPasswords(hashes);
  const beganMs = performance.now();
  const guesses = ['first', 'second', 'third'].map((guess) => passwords.matches(guess, null, { isKnown: false }));
  await guesses[0];
  await passwords.matches('known', null);
  assert.deepEqual(begun.slice(0, 2), ['first', 'known']);
  await Promise.all(guesses);
  assert.deepEqual(begun.slice(2), ['second', 'third']);
  assert.ok(performance.now() - beganMs > 5 * (tookMs - 2));
});

/** Of other implementations: jBCrypt's tests, and Apache's htpasswd (`$2y$`). */
const foreign = [
  ['a', '$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe'],
  ['abc', '$2a$06$If6bvum7DFjUnE9p2uDeDu0YHzrHM6tf.iqN8.yx.jNN1ILEf7h0i'],
  ['correct horse battery', '$2y$10$6gPpWg/9f06wYIScORtXGec4Cab5j8LgQz9lkpftU88zRcM9lLCmu'],
] as const;

test('hashes of bcrypt are compared, up to a cost of 12', async () => {
  const passwords = createPasswords(createPasswordHashes());
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

test('hashes of both kinds are compared in a thread, while this one does other things', async () => {
  const program = (): string => fileURLToPath(new URL('../passwords-thread.ts', import.meta.url));
  await using thread = createAskedThread<PasswordQuestion, string | boolean>({ program, data: null, idleMs: 60_000 });
  const logger = recordedLog();
  const passwords = createPasswords(threadedHashes({ thread, hashes: createPasswordHashes(), logger }));
  const hash = await passwords.hash('correct horse battery');
  const [, , [password, bcrypt]] = foreign;
  const before = { here: process.threadCpuUsage(), all: process.cpuUsage() };
  for (const phc of [hash, bcrypt]) {
    assert.equal(await passwords.matches(password, phc), true);
    assert.equal(await passwords.matches('a guess', phc), false);
  }
  assert.equal(await passwords.matches('a guess', null), false);
  assert.deepEqual(logger.events('unexpected_error'), []);
  const here = process.threadCpuUsage(before.here).user;
  const all = process.cpuUsage(before.all).user;
  assert.ok(here < all / 2, `${here} of ${all} µs`);
});

test('where the thread cannot run, people log in all the same', async () => {
  const program = (): string => '/nowhere/passwords.mjs';
  await using thread = createAskedThread<PasswordQuestion, string | boolean>({ program, data: null, idleMs: 60_000 });
  const logger = recordedLog();
  const passwords = createPasswords(threadedHashes({ thread, hashes: createPasswordHashes(), logger }));
  const hash = await passwords.hash('correct horse battery');
  assert.equal(await passwords.matches('correct horse battery', hash), true);
  assert.equal(await passwords.matches('a guess', hash), false);
  assert.equal(logger.events('unexpected_error').length, 3);
});
