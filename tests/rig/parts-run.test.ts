import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { namesOfFailures, runParts, type FinishedRun } from './parts-run.ts';

const none = { tests: 1, suites: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 };
const passed: FinishedRun = { totals: { ...none, pass: 1 }, output: '' };
const failed: FinishedRun = {
  totals: { ...none, fail: 1 },
  output: '✖ it stays (5.1ms)\n\n✖ failing tests:\n\ntest at a.test.ts:1:1\n✖ it stays (5.1ms)\n  Error: no\n',
};

/** Runs parts whose results are listed one after the other. */
async function runWith(results: Record<string, FinishedRun[]>, exclusive: readonly string[] = []) {
  const running = new Set<string>();
  const begun: { part: string; beside: string[] }[] = [];
  const { runs, flakes } = await runParts(Object.keys(results), {
    lanes: 3,
    run: async (part) => {
      begun.push({ part, beside: [...running] });
      running.add(part);
      await new Promise(setImmediate);
      running.delete(part);
      return results[part]?.shift() ?? assert.fail(`${part} has no further run`);
    },
    isExclusive: (part) => exclusive.includes(part),
    isInterrupted: () => false,
  });
  return { failed: [...runs].filter(([, run]) => run.totals.fail > 0).map(([part]) => part), flakes, begun };
}

describe('parts of the end-to-end tests', () => {
  test('a part that failed runs once more, alone, when the others are done, and that run counts', async () => {
    const run = await runWith({ a: [failed, passed], b: [passed], c: [passed], d: [passed] });
    assert.deepEqual(run.failed, []);
    assert.deepEqual(run.flakes, [{ part: 'a', failures: ['it stays'] }]);
    assert.deepEqual(run.begun.at(-1), { part: 'a', beside: [] });
  });

  test('a part that fails twice has failed', async () => {
    const run = await runWith({ a: [failed, failed], b: [failed, passed] });
    assert.deepEqual(run.failed, ['a']);
    assert.deepEqual(
      run.flakes.map(({ part }) => part),
      ['b'],
    );
  });

  test('three failed parts are no accident: none is repeated', async () => {
    const run = await runWith({ a: [failed], b: [failed], c: [failed], d: [passed] });
    assert.deepEqual(run.failed, ['a', 'b', 'c']);
    assert.deepEqual(run.flakes, []);
  });

  test('of exclusive parts one runs at a time, and the others do not wait for them', async () => {
    const { begun } = await runWith({ a: [passed], b: [passed], c: [passed], d: [passed] }, ['a', 'b']);
    const together = begun.filter(({ part, beside }) => [part, ...beside].filter((one) => /[ab]/.test(one)).length > 1);
    assert.deepEqual(together, []);
    assert.deepEqual(begun.find(({ part }) => part === 'd')?.beside.includes('a'), true);
  });

  test('a report without a list of failures names none', () => {
    assert.deepEqual(namesOfFailures('the program ended'), []);
  });
});
