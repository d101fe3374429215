import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLoginLimiter } from './login-limiter.ts';

const minutes = 60_000;

test('a change of the wall clock does not change the waiting time', () => {
  const time = { wall: 100 * minutes, steady: 0 };
  const clock = { now: () => time.wall, monotonic: () => time.steady };
  const limiter = createLoginLimiter(clock);
  const attempt = () => limiter.attempt('olena@example.org', '192.0.2.1');
  for (let guess = 0; guess < 5; guess++) assert.deepEqual(attempt(), { allowed: true });
  for (const set of [-60 * minutes, 120 * minutes]) {
    time.wall += set;
    assert.deepEqual(attempt(), { allowed: false, retryAfterMs: 15 * minutes });
  }
  time.wall -= 60 * minutes;
  time.steady += 15 * minutes + 1;
  assert.deepEqual(attempt(), { allowed: true });
});

test('an attacker with a whole IPv6 network has the attempts of one address', () => {
  const limiter = createLoginLimiter({ monotonic: () => 0 });
  const attempt = (address: string) => limiter.attempt('olena@example.org', address).allowed;
  for (let guess = 0; guess < 5; guess++) assert.equal(attempt(`2001:db8::${guess}`), true);
  assert.equal(attempt('2001:db8::ffff'), false);
  assert.equal(attempt('2001:db8:0:1::1'), true, 'another network');
});
