import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from '../../testing/seeded.ts';
import {
  frameOf,
  gapsIn,
  hourMs,
  resolutionsMs,
  type Span,
  summarised,
  type Transition,
  transitionPoints,
} from './history-decide.ts';

const dayMs = 24 * hourMs;
const nowMs = Date.parse('2026-03-01T12:34:56.789Z');
const row = (at: number, value: string | null): Transition => ({ at, value, span: null, share: null, changes: null });

test('the resolution follows from the length of the range', () => {
  const resolution = (length: number, more: { askedMs?: number; exactFromMs?: number } = {}): number =>
    frameOf({ fromMs: nowMs - length, toMs: nowMs, nowMs, exactFromMs: nowMs - 7 * dayMs, ...more }).resolutionMs;
  assert.deepEqual(
    [hourMs, 6 * hourMs, dayMs, 7 * dayMs, 30 * dayMs, 365 * dayMs, 60 * 365 * dayMs].map((length) =>
      resolution(length),
    ),
    [10_000, 60_000, 300_000, hourMs, 3 * hourMs, dayMs, 28 * dayMs],
  );
  assert.equal(resolution(hourMs, { askedMs: 61_000 }), 120_000);
  assert.equal(resolution(hourMs, { exactFromMs: nowMs }), hourMs, 'there are only hours');
  assert.equal(resolution(hourMs, { askedMs: 1e15 }), 28 * dayMs);
});

test('a frame is whole intervals around the range, up to now', () => {
  const asked = { fromMs: nowMs - hourMs, toMs: nowMs + dayMs, nowMs, exactFromMs: 0 };
  const { fromMs, toMs, resolutionMs } = frameOf(asked);
  assert.equal(resolutionMs, 10_000);
  assert.equal(fromMs, Date.parse('2026-03-01T11:34:50.000Z'));
  assert.equal(toMs, Date.parse('2026-03-01T12:35:00.000Z'));
  assert.ok(frameOf({ ...asked, fromMs: 0 }).fromMs > 0, 'no more than the coarsest intervals');
});

test('gaps are times offline and times without a backend', () => {
  const range = { fromMs: 0, toMs: 100 };
  const runs = (...given: [number, number][]) => given.map(([started_at, alive_at]) => ({ started_at, alive_at }));
  const gaps = (statuses: Transition[], ...given: [number, number][]): number[][] =>
    gapsIn(range, statuses, runs(...given)).map(({ fromMs, toMs }) => [fromMs, toMs]);
  const online = '"online"';
  const offline = '"offline"';
  assert.deepEqual(gaps([]), []);
  assert.deepEqual(gaps([row(-9, offline), row(10, online), row(90, offline)]), [
    [0, 10],
    [90, 100],
  ]);
  assert.deepEqual(gaps([row(10, offline), row(20, null)]), [[10, 20]]);
  assert.deepEqual(gaps([], [30, 50], [60, 70]), [[50, 60]], 'before the first run nothing is known');
  assert.deepEqual(gaps([], [30, 50], [40, 65], [60, 70]), [], 'another replica ran');
  assert.deepEqual(gaps([row(55, offline), row(65, online)], [30, 50], [60, 70]), [[50, 65]], 'they overlap');
});

const points = (transitions: Transition[], gaps: Span[] = [], endMs = 40) =>
  transitionPoints({ fromMs: 0, toMs: 40, resolutionMs: 10 }, transitions, gaps, endMs);
const on = 'true';
const off = 'false';

test('transitions are points; the one before the range says what holds at its start', () => {
  assert.deepEqual(points([]), []);
  assert.deepEqual(points([row(-5, on), row(12, off)]), [
    { at: 0, value: on, changes: 0 },
    { at: 12, value: off },
  ]);
  assert.deepEqual(points([row(-5, null), row(12, off)]), [{ at: 12, value: off }]);
  assert.deepEqual(points([row(-5, on), row(0, off)]), [{ at: 0, value: off }]);
});

test('many changes within an interval are one point, and the value after it continues', () => {
  const many = [row(10, on), row(12, off), row(14, on), row(15, off)];
  const summary = { at: 10, value: off, share: 0.7, changes: 4 };
  const rounded = (given: ReturnType<typeof points>) =>
    given.map((point) =>
      point.share === undefined ? point : { ...point, share: Math.round(point.share * 1e6) / 1e6 },
    );
  assert.deepEqual(rounded(points(many)), [summary, { at: 20, value: off, changes: 0 }]);
  assert.deepEqual(rounded(points([...many, row(25, on)])), [
    summary,
    { at: 20, value: off, changes: 0 },
    { at: 25, value: on },
  ]);
  assert.deepEqual(rounded(points([...many, row(20, on)])), [summary, { at: 20, value: on }]);
  assert.deepEqual(rounded(points([row(0, on), ...many])), [
    { at: 0, value: on },
    summary,
    { at: 20, value: off, changes: 0 },
  ]);
  // What holds at the start of the interval counts; time offline does not.
  const later = [row(0, on), row(14, off), row(15, on), row(16, off), row(17, on)];
  assert.deepEqual(rounded(points(later, [{ fromMs: 10, toMs: 14 }])).at(1), {
    at: 10,
    value: on,
    share: 0.666667,
    changes: 4,
  });
  assert.deepEqual(
    rounded(points(many, [], 17)).at(-1),
    { at: 10, value: off, share: 0.571429, changes: 4 },
    'now is within it',
  );
});

function randomTransitions(random: () => number, lengthMs: number): Transition[] {
  const rows: Transition[] = [];
  let value = on;
  for (let at = 0; at < lengthMs;) {
    rows.push(row(Math.floor(at), value));
    value = value === on ? off : on;
    at += 1 + random() ** 6 * lengthMs * 0.1;
  }
  return rows;
}

function randomGaps(random: () => number, lengthMs: number): Span[] {
  const statuses: Transition[] = [];
  for (let at = 0; at < lengthMs; at += random() * lengthMs * 0.3) {
    statuses.push(row(Math.floor(at), statuses.length % 2 === 0 ? '"online"' : '"offline"'));
  }
  return gapsIn({ fromMs: 0, toMs: lengthMs }, statuses, []);
}

const same = (a: ReturnType<typeof points>, b: ReturnType<typeof points>, message: string): void => {
  const rounded = (given: typeof a) =>
    given.map(({ share, ...rest }) => ({ ...rest, ...(share === undefined ? {} : { share: share.toFixed(6) }) }));
  // With equal shares either value may be named.
  assert.deepEqual(
    rounded(a).filter(({ share }) => share !== '0.500000'),
    rounded(b).filter(({ share }) => share !== '0.500000'),
    message,
  );
};

test('intervals that are over have the same points later, for other ranges, and after they were summarised', () => {
  const lengthMs = 12 * hourMs;
  for (let seed = 1; seed <= 150; seed++) {
    const random = seeded(seed);
    const all = randomTransitions(random, lengthMs);
    const gaps = randomGaps(random, lengthMs);
    const resolutionMs = resolutionsMs[Math.floor(random() * 8)]!;
    const nowMs = Math.floor(random() * lengthMs);
    const overMs = Math.floor(nowMs / resolutionMs) * resolutionMs;
    const startMs = Math.floor((random() * overMs) / resolutionMs) * resolutionMs;
    const known = (rows: readonly Transition[], from: number, until: number): Transition[] => {
      const held = rows.findLast(({ at }) => at < from);
      return [...(held === undefined ? [] : [held]), ...rows.filter(({ at }) => at >= from && at < until)];
    };
    const read = (rows: Transition[], from: number, now: number) => {
      const endMs = Math.min(now, lengthMs);
      const cut = gaps.flatMap((gap) => (gap.fromMs < endMs ? [{ ...gap, toMs: Math.min(gap.toMs, endMs) }] : []));
      const frame = { fromMs: from, toMs: Math.ceil(endMs / resolutionMs) * resolutionMs, resolutionMs };
      // The first point of a frame is what held before it.
      return transitionPoints(frame, known(rows, from, now), cut, endMs).filter(
        (point) => point.at < overMs && point.at >= startMs && !(point.at === from && point.changes === 0),
      );
    };
    const first = read(all, startMs, nowMs);
    const second = read(all, 0, lengthMs).filter((point) => !(point.at === startMs && point.changes === 0));
    same(first, second, `seed ${seed}, resolution ${resolutionMs}`);
    const spans = resolutionMs % hourMs === 0 ? [10_000, hourMs] : [10_000];
    let rows = all;
    for (const span of spans) rows = summarisedAll(rows, gaps, span, lengthMs);
    same(
      read(rows, 0, lengthMs).filter((point) => !(point.at === startMs && point.changes === 0)),
      second,
      `summarised, seed ${seed}, resolution ${resolutionMs}`,
    );
  }
});

function summarisedAll(
  rows: readonly Transition[],
  gaps: readonly Span[],
  span: number,
  lengthMs: number,
): Transition[] {
  const result = new Map(rows.map((one) => [one.at, one]));
  const sorted = [...rows];
  for (let fromMs = 0; fromMs < lengthMs; fromMs += span) {
    const toMs = fromMs + span;
    const inside = [...result.values()].filter(({ at }) => at >= fromMs && at < toMs).toSorted((a, b) => a.at - b.at);
    if (inside.length <= 1) continue;
    const held = sorted.findLast(({ at }) => at < fromMs) ?? null;
    const replaced = summarised({ fromMs, toMs }, held, inside, gaps);
    if (replaced === null) continue;
    for (const { at } of inside) result.delete(at);
    for (const one of replaced) if (!result.has(one.at)) result.set(one.at, one);
  }
  return [...result.values()].toSorted((a, b) => a.at - b.at);
}
