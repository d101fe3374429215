import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NumberHistory, NumberPoint, TransitionHistory, TransitionPoint } from '@station/protocol/device-history';
import { changesOf, numberSeries, sharesOf, stepSeries, textsOf, withBreaks, withReport } from './history-view.ts';

const iso = (at: number): string => new Date(at).toISOString();
const rangeOf = (toMs: number, gaps: readonly (readonly [number, number])[] = []) => ({
  from: iso(0),
  to: iso(toMs),
  resolutionMs: 10_000,
  gaps: gaps.map(([from, to]) => ({ from: iso(from), to: iso(to) })),
});
const numbers = (
  points: readonly (readonly [number, number])[],
  toMs: number,
  gaps?: readonly (readonly [number, number])[],
): NumberHistory => ({
  kind: 'number',
  ...rangeOf(toMs, gaps),
  points: points.map(([at, value]) => ({ at: iso(at), value, lowest: value - 1, highest: value + 1, count: 2 })),
});
const transitions = (
  points: readonly TransitionPoint[],
  toMs: number,
  gaps?: readonly (readonly [number, number])[],
): TransitionHistory => ({
  kind: 'transitions',
  ...rangeOf(toMs, gaps),
  points: [...points],
});
const pairs = ({ times, values }: { times: number[]; values: (number | null)[] }) =>
  times.map((at, n) => [at, values[n]]);

test('an average is in the middle of its interval, and the last value holds until now', () => {
  const { lowest, highest, ...line } = numberSeries(
    numbers(
      [
        [0, 20],
        [10_000, 22],
      ],
      40_000,
    ),
  );
  assert.deepEqual(pairs(line), [
    [5, 20],
    [15, 22],
    [40, 22],
  ]);
  assert.deepEqual(
    [lowest, highest],
    [
      [19, 21, 22],
      [21, 23, 22],
    ],
  );
});

test('there is no line in a gap: the value before it holds until it begins, the next one comes after it', () => {
  const gaps = [
    [22_000, 31_000],
    [38_000, 40_000],
  ] as const;
  assert.deepEqual(
    pairs(
      numberSeries(
        numbers(
          [
            [0, 20],
            [10_000, 22],
            [30_000, 24],
          ],
          40_000,
          gaps,
        ),
      ),
    ),
    [
      [5, 20],
      [15, 22],
      [22, 22],
      [22.001, null],
      [35, 24],
      [38, 24],
      [38.001, null],
    ],
  );
  // The middle of the interval is in the gap.
  assert.deepEqual(
    pairs(
      numberSeries(
        numbers(
          [
            [0, 20],
            [20_000, 22],
          ],
          30_000,
          [[3_000, 27_000]],
        ),
      ),
    ),
    [
      [2.999, 20],
      [3, 20],
      [3.001, null],
      [27, 22],
      [30, 22],
    ],
  );
  // A whole interval is in the gap: its value is a point, and no line.
  assert.deepEqual(
    pairs(
      numberSeries(
        numbers(
          [
            [10_000, 20],
            [30_000, 22],
          ],
          40_000,
          [[10_000, 25_000]],
        ),
      ),
    ),
    [
      [15, 20],
      [15.001, null],
      [35, 22],
      [40, 22],
    ],
  );
  assert.deepEqual(pairs(numberSeries(numbers([], 40_000, gaps))), []);
});

test('a boolean is drawn as steps, broken by gaps, with a part of the height where it changed often', () => {
  const history = transitions(
    [
      { at: iso(0), value: false, changes: 0 },
      { at: iso(4_000), value: true },
      { at: iso(10_000), value: false, share: 0.75, changes: 6 },
      { at: iso(20_000), value: true, changes: 0 },
      { at: iso(28_000), value: null },
    ],
    40_000,
    [[6_000, 8_000]],
  );
  assert.deepEqual(pairs(stepSeries(history, [])), [
    [0, 0],
    [4, 1],
    [5.999, 1],
    [6, null],
    [8, 1],
    [10, 0.25],
    [20, 1],
    [27.999, 1],
  ]);
  assert.deepEqual(
    sharesOf(history).map(({ value, share }) => [value, Math.round(share * 26_000)]),
    [
      [true, 14_500],
      [false, 11_500],
    ],
  );
  assert.equal(changesOf(history), 8);
});

test('texts have a place each, those of the type first', () => {
  const history = transitions(
    [
      { at: iso(0), value: 'odd' },
      { at: iso(1_000), value: 'auto' },
    ],
    2_000,
  );
  assert.deepEqual(textsOf(history, ['away', 'auto']), ['auto', 'odd']);
  assert.deepEqual(pairs(stepSeries(history, ['auto', 'odd'])), [
    [0, 1],
    [1, 0],
    [1.999, 0],
  ]);
  assert.deepEqual(sharesOf(transitions([], 2_000)), []);
});

test('a report that arrives is drawn as the station will answer it', () => {
  const before = numbers([[0, 20]], 9_000);
  let live = withReport(before, iso(9_500), 26);
  for (const [at, value] of [
    [12_000, 10],
    [13_000, 14],
  ] as const)
    live = withReport(live, iso(at), value);
  const expected: NumberPoint[] = [
    { at: iso(0), value: 22, lowest: 19, highest: 26, count: 3 },
    { at: iso(10_000), value: 12, lowest: 10, highest: 14, count: 2 },
  ];
  assert.deepEqual(live, { ...before, to: iso(13_000), points: expected });
  assert.equal(withReport(live, iso(13_000), 99), live, 'the answer contains it already');
  const switched = transitions([{ at: iso(0), value: false }], 9_000);
  const on = withReport(switched, iso(9_500), true);
  assert.deepEqual(on, { ...switched, to: iso(9_500), points: [...switched.points, { at: iso(9_500), value: true }] });
  assert.deepEqual(withReport(on, iso(9_900), true), { ...on, to: iso(9_900) });
});

test('a gap stays one among the times of another device', () => {
  assert.deepEqual(withBreaks([1, undefined, 2, null, undefined, undefined, 3, undefined]), [
    1,
    undefined,
    2,
    null,
    null,
    null,
    3,
    undefined,
  ]);
});
