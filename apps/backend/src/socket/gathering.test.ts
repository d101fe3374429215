import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { createGathering } from './gathering.ts';

/** A gathering whose deliveries take `tookMs` by a clock that stands still otherwise. */
function withGathering(tookMs: number) {
  let now = 0;
  let wake = (): void => undefined;
  const delivered: number[][] = [];
  const pauses: number[] = [];
  const clock = {
    monotonic: () => now,
    sleep: (ms: number) => {
      pauses.push(ms);
      return new Promise<void>((resolve) => (wake = resolve));
    },
  };
  const gathering = createGathering<number>(clock, (items) => {
    delivered.push([...items]);
    now += tookMs;
  });
  const endPause = async (): Promise<void> => {
    wake();
    await nextTurn();
  };
  return { gathering, delivered, pauses, endPause };
}

test('the first after a pause goes at once, with all of its turn', async () => {
  const { gathering, delivered } = withGathering(1);
  for (const item of [1, 2, 3]) gathering.add(item);
  assert.deepEqual(delivered, [], 'not within the call');
  await nextTurn();
  assert.deepEqual(delivered, [[1, 2, 3]]);
});

test('what comes in a pause goes together at its end, in order; after an idle pause at once again', async () => {
  const { gathering, delivered, pauses, endPause } = withGathering(1);
  gathering.add(1);
  await nextTurn();
  for (const item of [2, 3]) {
    gathering.add(item);
    await nextTurn();
  }
  assert.deepEqual(delivered, [[1]]);
  await endPause();
  assert.deepEqual(delivered, [[1], [2, 3]]);
  await endPause();
  assert.equal(pauses.length, 2, 'nothing to do: no further pause');
  gathering.add(4);
  await nextTurn();
  assert.deepEqual(delivered, [[1], [2, 3], [4]]);
});

for (const [tookMs, pauseMs] of [
  [0.1, 0.4],
  [3, 12],
  [100, 20],
] as const)
  test(`a delivery of ${tookMs} ms is followed by a pause of ${pauseMs} ms`, async () => {
    const { gathering, pauses } = withGathering(tookMs);
    gathering.add(1);
    await nextTurn();
    assert.deepEqual(pauses, [pauseMs]);
  });

test('flushed, what waits goes now, and not again; cleared, it never goes', async () => {
  const { gathering, delivered, endPause } = withGathering(1);
  gathering.add(1);
  gathering.flush();
  assert.deepEqual(delivered, [[1]]);
  await nextTurn();
  gathering.add(2);
  gathering.clear();
  await nextTurn();
  await endPause();
  assert.deepEqual(delivered, [[1]]);
});
