import type {
  DeviceHistory,
  NumberHistory,
  NumberPoint,
  TransitionHistory,
  TransitionPoint,
} from '@station/protocol/device-history';
import type { Span } from './history-span.ts';

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** How far back a chart reaches. The station chooses the resolution. */
export const ranges = {
  hour: hourMs,
  sixHours: 6 * hourMs,
  day: dayMs,
  week: 7 * dayMs,
  month: 30 * dayMs,
  year: 365 * dayMs,
} as const;
export type Range = keyof typeof ranges;

/** Gaps as spans, in order. */
export const spansOf = ({ gaps }: DeviceHistory): Span[] =>
  gaps.map(({ from, to }) => ({ fromMs: Date.parse(from), toMs: Date.parse(to) }));

/**
 * The history after a report of the device: as the station will answer it, so that drawing again changes nothing. A report that the answer
 * contains already changes nothing.
 */
export function withReport(history: DeviceHistory, at: string, value: unknown): DeviceHistory {
  if (at <= history.to) return history;
  if (history.kind === 'number') return typeof value === 'number' ? withNumber(history, at, value) : history;
  if (typeof value !== 'boolean' && typeof value !== 'string') return history;
  const isSame = history.points.at(-1)?.value === value && history.points.at(-1)?.share === undefined;
  return { ...history, to: at, points: isSame ? history.points : [...history.points, { at, value }] };
}

function withNumber(history: NumberHistory, at: string, value: number): NumberHistory {
  const { resolutionMs, points } = history;
  const start = new Date(Math.floor(Date.parse(at) / resolutionMs) * resolutionMs).toISOString();
  const last = points.at(-1);
  if (last?.at !== start) {
    return { ...history, to: at, points: [...points, { at: start, value, lowest: value, highest: value, count: 1 }] };
  }
  const count = last.count + 1;
  const point: NumberPoint = {
    at: start,
    value: last.value + (value - last.value) / count,
    lowest: Math.min(last.lowest, value),
    highest: Math.max(last.highest, value),
    count,
  };
  return { ...history, to: at, points: [...points.slice(0, -1), point] };
}

/** For uPlot: times in seconds, ascending; null breaks the line. */
export type Series = {
  times: number[];
  values: (number | null)[];
  lowest: (number | null)[];
  highest: (number | null)[];
};

/** Averages in the middle of their intervals. A value holds until a gap begins, and until now. */
export function numberSeries(history: NumberHistory): Series {
  const { resolutionMs, points } = history;
  const endMs = Date.parse(history.to);
  const gaps = spansOf(history);
  const series: Series = { times: [], values: [], lowest: [], highest: [] };
  const add = (atMs: number, point: { value: number; lowest: number; highest: number } | null): void => {
    series.times.push(atMs / 1000);
    series.values.push(point?.value ?? null);
    series.lowest.push(point?.lowest ?? null);
    series.highest.push(point?.highest ?? null);
  };
  let held: { value: number; lowest: number; highest: number } | null = null;
  let lastMs = -Infinity;
  const holdUntil = (atMs: number): void => {
    if (held !== null && atMs > lastMs) add(atMs, { value: held.value, lowest: held.value, highest: held.value });
  };
  let next = 0;
  const breakAt = ({ fromMs }: Span): void => {
    holdUntil(fromMs);
    if (held !== null) add(Math.max(fromMs, lastMs) + 1, null);
    held = null;
  };
  for (const point of points) {
    const atMs = Math.max(lastMs + 1, placeOf(Date.parse(point.at), resolutionMs, gaps, endMs));
    for (let gap = gaps[next]; gap !== undefined && gap.fromMs <= atMs; gap = gaps[++next]) breakAt(gap);
    add(atMs, point);
    held = point;
    lastMs = atMs;
    const within = gaps[next - 1];
    if (within !== undefined && atMs < within.toMs) breakAt({ ...within, fromMs: atMs });
  }
  for (let gap = gaps[next]; gap !== undefined; gap = gaps[++next]) breakAt(gap);
  holdUntil(endMs);
  return series;
}

/** The middle of an interval; its end or its start when the middle is within a gap. */
function placeOf(startMs: number, resolutionMs: number, gaps: readonly Span[], endMs: number): number {
  const middleMs = Math.min(startMs + resolutionMs / 2, endMs);
  const gap = gaps.find(({ fromMs, toMs }) => fromMs <= middleMs && middleMs < toMs);
  if (gap === undefined) return middleMs;
  if (gap.fromMs > startMs) return gap.fromMs - 1;
  return gap.toMs < startMs + resolutionMs ? gap.toMs : middleMs;
}

/** A time in which one value held; `share`: part of it, in an interval with many changes. */
export type Piece = Span & { value: boolean | string; share: number };

/** Without gaps and without times in which nothing is known. */
export function piecesOf(history: TransitionHistory): Piece[] {
  const endMs = Date.parse(history.to);
  const gaps = spansOf(history);
  return history.points.flatMap(({ at, value, share = 1 }, index) => {
    const next = history.points[index + 1];
    const whole = { fromMs: Date.parse(at), toMs: next === undefined ? endMs : Date.parse(next.at) };
    return value === null ? [] : without(whole, gaps).map((span) => ({ ...span, value, share }));
  });
}

function without(span: Span, gaps: readonly Span[]): Span[] {
  const parts: Span[] = [];
  let { fromMs } = span;
  for (const gap of gaps) {
    if (gap.toMs <= fromMs || gap.fromMs >= span.toMs) continue;
    if (gap.fromMs > fromMs) parts.push({ fromMs, toMs: gap.fromMs });
    fromMs = gap.toMs;
  }
  if (fromMs < span.toMs) parts.push({ fromMs, toMs: span.toMs });
  return parts;
}

/**
 * Steps. A boolean is 1, 0 or, in an interval with many changes, the part of it in which it was true. A text is its place among `texts`.
 */
export function stepSeries(history: TransitionHistory, texts: readonly string[]): Pick<Series, 'times' | 'values'> {
  const series: Pick<Series, 'times' | 'values'> = { times: [], values: [] };
  const add = (atMs: number, value: number | null): void => {
    series.times.push(atMs / 1000);
    series.values.push(value);
  };
  const pieces = piecesOf(history);
  pieces.forEach(({ fromMs, toMs, value, share }, index) => {
    const level = typeof value === 'string' ? texts.indexOf(value) : value ? share : 1 - share;
    add(fromMs, level);
    const next = pieces[index + 1];
    if (next?.fromMs === toMs) return;
    if (toMs - 1 > fromMs) add(toMs - 1, level);
    if (next !== undefined) add(toMs, null);
  });
  return series;
}

/** The texts of a history: those of the type first, in its order. */
export function textsOf({ points }: TransitionHistory, known: readonly string[] = []): string[] {
  const texts = points.flatMap(({ value }) => (typeof value === 'string' ? [value] : []));
  const used = new Set(texts);
  return [...new Set([...known.filter((text) => used.has(text)), ...texts])];
}

/** How long each value held, as part of the known time, longest first. */
export function sharesOf(history: TransitionHistory): { value: boolean | string; share: number }[] {
  const times = new Map<boolean | string, number>();
  let known = 0;
  for (const { fromMs, toMs, value, share } of piecesOf(history)) {
    const ms = toMs - fromMs;
    known += ms;
    times.set(value, (times.get(value) ?? 0) + ms * share);
    if (typeof value === 'boolean') times.set(!value, (times.get(!value) ?? 0) + ms * (1 - share));
  }
  if (known === 0) return [];
  const shares = Array.from(times, ([value, ms]) => ({ value, share: ms / known }));
  return shares.toSorted((a, b) => b.share - a.share);
}

/** Without the first point, when it only says what held before. */
export const changesOf = ({ points }: TransitionHistory): number => {
  const count = ({ changes }: TransitionPoint): number => changes ?? 1;
  return points.reduce((sum, point, index) => sum + (index === 0 && point.share === undefined ? 0 : count(point)), 0);
};

/** Milliseconds in gaps. */
export const gapMs = (history: DeviceHistory): number =>
  spansOf(history).reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);

const shortestMs = 10 * 60 * 1000;

/** The whole range, or less of it for a device that is new: its first minutes would be a speck at the edge. */
export function shownFrom(history: DeviceHistory, toMs: number): number {
  const fromMs = Date.parse(history.from);
  const firsts = [history.points[0]?.at, history.gaps[0]?.from].flatMap((at) =>
    at === undefined ? [] : [Date.parse(at)],
  );
  return Math.max(fromMs, Math.min(...firsts, toMs - shortestMs));
}

/** The look of each history of a chart: not by colour alone. The pattern is of drawn and empty pixels. */
export const looks: readonly { color: string; dash: number[] }[] = [
  { color: '--accent', dash: [] },
  { color: '--chart-2', dash: [8, 4] },
  { color: '--chart-3', dash: [2, 3] },
  { color: '--chart-4', dash: [12, 3, 2, 3] },
];

/** A line among the times of others: a gap lasts until its next value, else uPlot would draw across it. */
export function withBreaks(line: readonly (number | null | undefined)[]): (number | null | undefined)[] {
  let isGap = false;
  return line.map((value) => {
    if (value !== undefined) isGap = value === null;
    return isGap ? null : value;
  });
}
