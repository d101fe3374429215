import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../testing/manual-clock.ts';
import { isReadyWithin } from './broker-link.ts';

test('a link that came while the machine was too busy to look is well, though the time is over', async () => {
  const clock = manualClock();
  let isReady = false;
  const busy = {
    ...clock,
    sleep: async (): Promise<void> => {
      clock.advance(5_000);
      // Read in the next turn.
      setImmediate(() => (isReady = true));
    },
  };
  assert.equal(await isReadyWithin(() => isReady, 2_000, busy), true);
});

test('one that does not come within the time is not well, and the time is not exceeded', async () => {
  const clock = manualClock();
  const slept: number[] = [];
  const passing = {
    ...clock,
    sleep: async (ms: number): Promise<void> => {
      slept.push(ms);
      clock.advance(ms);
    },
  };
  assert.equal(await isReadyWithin(() => false, 2_000, passing), false);
  assert.equal(
    slept.reduce((sum, ms) => sum + ms, 0),
    2_000,
  );
});
