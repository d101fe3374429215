import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isTimeToCollect, type Quietness } from './quiet-collection.ts';

const due: Quietness = { busyShare: 0.03, heapBytes: 40e6, leftBytes: 24e6, sinceMs: 600_000 };

describe('memory is collected', () => {
  it('when it is quiet and the heap has grown, also for the first time', () => {
    assert.ok(isTimeToCollect(due));
    assert.ok(isTimeToCollect({ ...due, leftBytes: 0, sinceMs: Infinity }));
  });

  const not: [string, Partial<Quietness>][] = [
    ['while there is work', { busyShare: 0.5 }],
    ['when it was done half a minute ago', { sinceMs: 30_000 }],
    ['when there is little to be had', { heapBytes: 26e6 }],
  ];
  for (const [why, change] of not) it(`not ${why}`, () => assert.ok(!isTimeToCollect({ ...due, ...change })));
});
