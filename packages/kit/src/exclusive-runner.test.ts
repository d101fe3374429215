import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createExclusiveRunner } from './exclusive-runner.ts';

describe('an exclusive runner', () => {
  it('runs jobs one after another, in order, also after a failed job', async () => {
    const runner = createExclusiveRunner();
    const log: string[] = [];
    const job =
      (name: string, fails = false) =>
      async () => {
        log.push(`${name} begins`);
        await new Promise(setImmediate);
        log.push(`${name} ends`);
        if (fails) throw new Error(name);
        return name;
      };
    const outcomes = await Promise.allSettled([
      runner.run(job('a')),
      runner.run(job('b', true)),
      runner.run(() => {
        throw new Error('at once');
      }),
      runner.run(job('c')),
    ]);
    assert.deepEqual(log, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : String(outcome.reason))),
      ['a', 'Error: b', 'Error: at once', 'c'],
    );
  });
});
