import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NumberHistory, TransitionHistory } from '@station/protocol/device-history';
import { answerAt, momentsOf, movedCursor } from './history-cursor.ts';

const iso = (at: number): string => new Date(at).toISOString();
const range = {
  from: iso(0),
  to: iso(60_000),
  resolutionMs: 10_000,
  gaps: [{ from: iso(25_000), to: iso(40_000) }],
};
const warm: NumberHistory = {
  kind: 'number',
  ...range,
  points: [0, 10_000, 50_000].map((at) => ({ at: iso(at), value: at / 1000, lowest: 0, highest: 60, count: 1 })),
};
const lamp: TransitionHistory = {
  kind: 'transitions',
  ...range,
  points: [
    { at: iso(5_000), value: true },
    { at: iso(45_000), value: false },
  ],
};

test('a number holds until the next one or a gap, and nothing is said after a gap until the next', () => {
  const values = [-1, 0, 9_999, 24_000, 30_000, 45_000, 50_000, 60_000, 60_001].map((at) => {
    const answer = answerAt(warm, at);
    return answer?.kind === 'number' ? answer.point.value : null;
  });
  assert.deepEqual(values, [null, 0, 0, 10, null, null, 50, 50, null]);
});

test('a boolean is said with the times between which it held; a gap ends it', () => {
  const held = (at: number) => {
    const answer = answerAt(lamp, at);
    return answer?.kind === 'held' ? [answer.value, answer.fromMs, answer.toMs] : null;
  };
  assert.equal(held(4_999), null);
  assert.deepEqual(held(5_000), [true, 5_000, 25_000]);
  assert.equal(held(25_000), null);
  assert.deepEqual(held(40_000), [true, 40_000, 45_000]);
  assert.deepEqual(held(60_000), [false, 45_000, 60_000]);
});

test('keys go from moment to moment, and stay at the ends', () => {
  const moments = momentsOf([warm, lamp], { fromMs: 5_000, toMs: 50_000 });
  assert.deepEqual(moments, [5_000, 15_000, 24_999, 25_000, 25_001, 40_000, 45_000]);
  assert.equal(movedCursor('ArrowLeft', null, moments), 45_000);
  assert.equal(movedCursor('ArrowLeft', 15_000, moments), 5_000);
  assert.equal(movedCursor('ArrowLeft', 5_000, moments), 5_000);
  assert.equal(movedCursor('ArrowRight', 15_000, moments), 24_999);
  assert.equal(movedCursor('ArrowRight', 14_000, moments), 15_000);
  assert.equal(movedCursor('ArrowRight', 45_000, moments), 45_000);
  assert.equal(movedCursor('Home', 45_000, moments), 5_000);
  assert.equal(movedCursor('x', 45_000, moments), null);
  assert.equal(movedCursor('End', null, []), null);
});
