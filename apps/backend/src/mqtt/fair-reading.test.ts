import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFairReading } from './fair-reading.ts';
import { readingRate } from './rates-decide.ts';

const { bytesPerSecond, burstBytes } = readingRate;

test('a sender over its rate waits in order, others do not, and disposed nothing is called', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let nowMs = 1_000;
  const tick = (ms: number): void => {
    nowMs += ms;
    t.mock.timers.tick(ms);
  };
  const called: string[] = [];
  const reading = createFairReading(() => nowMs);
  const send = (sender: string, bytes: number, name: string): boolean =>
    reading.whenDue(sender, bytes, () => called.push(name));
  send('flood', burstBytes, 'burst');
  send('flood', bytesPerSecond, 'a');
  send('flood', bytesPerSecond / 2, 'b');
  send('flood', 1, 'small');
  send('other', bytesPerSecond, 'other');
  assert.deepEqual(called, ['burst', 'other']);
  tick(999);
  assert.deepEqual(called, ['burst', 'other']);
  tick(1);
  assert.deepEqual(called, ['burst', 'other', 'a']);
  tick(500);
  assert.deepEqual(called, ['burst', 'other', 'a', 'b']);
  tick(10);
  assert.deepEqual(called, ['burst', 'other', 'a', 'b', 'small']);
  // Quiet long enough for the whole burst.
  tick(120_000);
  send('flood', burstBytes, 'burst again');
  send('flood', 1_000, 'late');
  assert.deepEqual(called.slice(5), ['burst again']);
  reading[Symbol.dispose]();
  tick(120_000);
  assert.deepEqual(called.slice(5), ['burst again']);
});

test('what is handled at once is charged; far over its rate a sender may neither go on nor connect for a while', () => {
  let nowMs = 1_000;
  const reading = createFairReading(() => nowMs);
  assert.equal(reading.spend('flood', burstBytes + 4 * bytesPerSecond), true);
  assert.equal(reading.mayConnect('flood'), true);
  assert.equal(reading.spend('flood', 2 * bytesPerSecond), false);
  assert.deepEqual([reading.mayConnect('flood'), reading.mayConnect('other')], [false, true]);
  nowMs += 1_000;
  assert.equal(reading.mayConnect('flood'), true);
});
