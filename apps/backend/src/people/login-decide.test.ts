import assert from 'node:assert/strict';
import { test } from 'node:test';
import { delayLeft, delayRules, failuresAt } from './login-decide.ts';

const seconds = 1000;
const minutes = 60 * seconds;

test('delays begin after the free failures, double, and end at 15 minutes', () => {
  const delays = Array.from({ length: 13 }, (_, failures) => delayLeft({ failures, at: 0 }, delayRules.pair, 0));
  const free = [0, 0, 0, 0, 0];
  const growing = [30, 60, 120, 240, 480].map((delay) => delay * seconds);
  assert.deepEqual(delays, [...free, ...growing, 15 * minutes, 15 * minutes, 15 * minutes]);
  assert.equal(delayLeft({ failures: 6, at: 0 }, delayRules.pair, 45 * seconds), 15 * seconds);
  assert.equal(delayLeft({ failures: 6, at: 0 }, delayRules.pair, 60 * seconds), 0);
});

test('one failure is forgotten every 15 minutes', () => {
  assert.equal(failuresAt({ failures: 5, at: 0 }, 15 * minutes), 4);
  assert.equal(failuresAt({ failures: 5, at: 0 }, 100 * minutes), 0);
  assert.equal(failuresAt({ failures: 5, at: 10 * minutes }, 0), 5, 'a clock that went back forgets nothing');
});

test('someone who guesses whenever it is allowed has about 100 guesses in a day', () => {
  let count = { failures: 0, at: 0 };
  let now = 0;
  let guesses = 0;
  for (;;) {
    now += delayLeft(count, delayRules.pair, now);
    if (now > 24 * 60 * minutes) break;
    count = { failures: failuresAt(count, now) + 1, at: now };
    guesses += 1;
  }
  assert.ok(guesses < 130, String(guesses));
});
