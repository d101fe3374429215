import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from './clock.ts';
import { runLoop, type LoopParts } from './loop.ts';
import { createBackoff } from './retry.ts';
import { createWaker } from './wakeable.ts';

function setUp(turn: (count: number) => Promise<number>) {
  const stopping = new AbortController();
  const waker = createWaker(systemClock);
  const failures: { message: string; retryInMs: number }[] = [];
  let turns = 0;
  const parts: LoopParts = {
    turn: async () => turn((turns += 1)),
    waker,
    clock: { sleep: async () => undefined },
    signal: stopping.signal,
    backoff: createBackoff({ initialMs: 10, maxMs: 40, jitter: 0, random: () => 0 }),
    onFailure: ({ error, retryInMs }) => void failures.push({ message: (error as Error).message, retryInMs }),
  };
  return { parts, waker, failures, stop: () => stopping.abort(new Error('stopping')), turns: () => turns };
}

describe('a loop', () => {
  it('repeats until the signal aborts, after the delay that each turn returns', async () => {
    const { parts, stop, turns } = setUp(async (count) => {
      if (count === 4) stop();
      return count % 2;
    });
    await runLoop(parts);
    assert.equal(turns(), 4);
  });

  it('is woken from an unlimited wait', async () => {
    const { parts, waker, stop } = setUp(async (count) => {
      if (count === 2) stop();
      else setImmediate(waker.wake);
      return Infinity;
    });
    await runLoop(parts);
  });

  it('waits longer after each failure, and resets the delay after a success', async () => {
    const { parts, failures, stop } = setUp(async (count) => {
      if (count === 6) stop();
      if (count === 4) return 0;
      throw new Error(`turn ${count}`);
    });
    await runLoop(parts);
    assert.deepEqual(failures, [
      { message: 'turn 1', retryInMs: 10 },
      { message: 'turn 2', retryInMs: 20 },
      { message: 'turn 3', retryInMs: 40 },
      { message: 'turn 5', retryInMs: 10 },
    ]);
  });

  it('runs no turn after the signal has aborted', async () => {
    const { parts, stop, turns } = setUp(async () => 0);
    stop();
    await runLoop(parts);
    assert.equal(turns(), 0);
  });
});
