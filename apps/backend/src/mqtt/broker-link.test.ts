import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../testing/manual-clock.ts';
import { createSharedWait, isReadyWithin, trackOpenMessages } from './broker-link.ts';

test('a link that became ready while the machine was busy counts as ready, although the time is over', async () => {
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

test('a link that does not become ready within the time is not ready, and the time is not exceeded', async () => {
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

test('items that wait for one promise are passed on together, in order, and each once', async () => {
  const passed: number[][] = [];
  const wait = createSharedWait<number>((items) => passed.push([...items]));
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  wait(first.promise, 1);
  wait(first.promise, 2);
  wait(second.promise, 3);
  wait(first.promise, 4);
  await new Promise(setImmediate);
  assert.deepEqual(passed, []);
  second.resolve();
  await new Promise(setImmediate);
  assert.deepEqual(passed, [[3]]);
  first.resolve();
  await new Promise(setImmediate);
  assert.deepEqual(passed, [[3], [1, 2], [4]]);
});

test('an item whose promise has already resolved is passed on too', async () => {
  const passed: number[][] = [];
  const wait = createSharedWait<number>((items) => passed.push([...items]));
  const done = Promise.resolve();
  wait(done, 1);
  await new Promise(setImmediate);
  wait(done, 2);
  wait(done, 3);
  await new Promise(setImmediate);
  assert.deepEqual(passed, [[1], [2, 3]]);
});

test('received messages are waited for until they are on disk, for two seconds at most', async () => {
  const clock = manualClock();
  let sleeps = 0;
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const passing = {
    ...clock,
    sleep: async (ms: number): Promise<void> => {
      clock.advance(ms);
      sleeps += 1;
      if (sleeps === 3) first.resolve();
      await new Promise(setImmediate);
    },
  };
  const open = trackOpenMessages(({ topic }) => (topic === 'first' ? first.promise : second.promise));
  await open.settled(passing);
  assert.equal(sleeps, 0);
  void open.receive({ topic: 'first', payload: Buffer.alloc(0) });
  await open.settled(passing);
  assert.equal(sleeps, 3);
  void open.receive({ topic: 'second', payload: Buffer.alloc(0) });
  await open.settled(passing);
  assert.equal(sleeps, 203);
});
