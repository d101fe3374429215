import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { constantBackoff, createBackoff, retry } from './retry.ts';

const delays = (count: number, options: { jitter: number; random: () => number }): number[] => {
  const backoff = createBackoff({ initialMs: 2000, maxMs: 60_000, ...options });
  return Array.from({ length: count }, () => backoff.nextMs());
};

describe('a backoff', () => {
  it('doubles the delay up to the maximum', () => {
    const expected = [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000];
    assert.deepEqual(delays(8, { jitter: 0.2, random: () => 0.5 }), expected);
    assert.deepEqual(delays(8, { jitter: 0, random: () => 0 }), expected);
  });

  it('applies jitter within the maximum, without drifting', () => {
    assert.deepEqual(delays(7, { jitter: 0.2, random: () => 0 }), [1600, 3200, 6400, 12_800, 25_600, 48_000, 48_000]);
    const high = delays(7, { jitter: 0.2, random: () => 1 - Number.EPSILON });
    assert.deepEqual(high, [2400, 4800, 9600, 19_200, 38_400, 60_000, 60_000]);
  });

  it('never ends', () => {
    assert.equal(delays(5000, { jitter: 0.2, random: () => 0.5 }).at(-1), 60_000);
  });

  it('resets after a success', () => {
    const backoff = createBackoff({ initialMs: 100, maxMs: 1000, jitter: 0, random: () => 0 });
    backoff.nextMs();
    backoff.nextMs();
    backoff.reset();
    assert.deepEqual([backoff.nextMs(), backoff.nextMs()], [100, 200]);
  });
});

describe('a constant backoff', () => {
  it('gives the same delay after each failure', () => {
    const backoff = constantBackoff(500);
    assert.deepEqual([backoff.nextMs(), backoff.nextMs()], [500, 500]);
    backoff.reset();
    assert.equal(backoff.nextMs(), 500);
  });
});

describe('a retry', () => {
  const setUp = () => {
    const slept: number[] = [];
    const failures: { message: string; attempt: number; retryInMs: number }[] = [];
    const stopping = new AbortController();
    const options = {
      clock: {
        sleep: async (ms: number, signal?: AbortSignal) => {
          slept.push(ms);
          signal?.throwIfAborted();
        },
      },
      signal: stopping.signal,
      backoff: createBackoff({ initialMs: 100, maxMs: 300, jitter: 0, random: () => 0 }),
      onFailure: ({ error, attempt, retryInMs }: { error: unknown; attempt: number; retryInMs: number }) =>
        void failures.push({ message: (error as Error).message, attempt, retryInMs }),
    };
    return { slept, failures, stopping, options };
  };

  it('repeats the work until it succeeds, then resets the delays', async () => {
    const { slept, failures, options } = setUp();
    const work = async (attempt: number): Promise<string> => {
      if (attempt < 4) throw new Error(`no ${attempt}`);
      return 'done';
    };
    assert.equal(await retry(work, options), 'done');
    assert.deepEqual(slept, [100, 200, 300]);
    assert.deepEqual(failures[2], { message: 'no 3', attempt: 3, retryInMs: 300 });
    assert.equal(options.backoff.nextMs(), 100);
  });

  it('ends with the signal, and does not report the failure that it causes', async () => {
    const { failures, stopping, options } = setUp();
    const work = async (attempt: number): Promise<never> => {
      if (attempt === 2) stopping.abort(new Error('stopping'));
      throw new Error('failed');
    };
    await assert.rejects(retry(work, options), { message: 'stopping' });
    assert.deepEqual([failures.length, failures[0]?.message], [1, 'failed']);
  });
});
