import { ownValue } from '@station/protocol/own-value';
/** Decides what a history shows. Times are milliseconds since the epoch, `toMs` is exclusive. */

export type Span = { fromMs: number; toMs: number };

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Each is a multiple of the first; those from an hour on are multiples of an hour. */
export const resolutionsMs = [
  10 * secondMs,
  30 * secondMs,
  minuteMs,
  2 * minuteMs,
  5 * minuteMs,
  15 * minuteMs,
  hourMs,
  3 * hourMs,
  6 * hourMs,
  12 * hourMs,
  dayMs,
  7 * dayMs,
  28 * dayMs,
] as const;
export const finestMs = resolutionsMs[0];
const coarsestMs = 28 * dayMs;

/** With so many intervals no answer is larger than 256 KiB, even if each has short texts and a gap. */
const maxIntervals = 400;
/** More changes of an interval become one point. */
export const maxExactChanges = 3;

export type Frame = Span & { resolutionMs: number };

/**
 * The resolution, and whole intervals around the range. It depends on the length of the range, and on where exact values begin: before that
 * there are only hours.
 * @param askedMs the wanted resolution; the result is never finer.
 * @param exactFromMs from then on all samples and transitions are kept.
 */
export function frameOf(asked: Span & { askedMs?: number | undefined; exactFromMs: number; nowMs: number }): Frame {
  const { askedMs = 0, exactFromMs, nowMs } = asked;
  const toMs = Math.min(asked.toMs, nowMs + 1);
  const fromMs = Math.max(Math.min(asked.fromMs, toMs), toMs - (maxIntervals - 1) * coarsestMs);
  const fits = (one: number): boolean =>
    one >= askedMs && (toMs - fromMs) / one <= maxIntervals && (one >= hourMs || fromMs >= exactFromMs);
  const resolutionMs = resolutionsMs.find(fits) ?? coarsestMs;
  return {
    resolutionMs,
    fromMs: intervalOf(fromMs, resolutionMs),
    toMs: Math.ceil(toMs / resolutionMs) * resolutionMs,
  };
}

/** Start of the interval of a time. */
export const intervalOf = (at: number, resolutionMs: number): number => Math.floor(at / resolutionMs) * resolutionMs;

/** A row of `device_transitions`. */
export type Transition = {
  at: number;
  value: string | null;
  span: number | null;
  share: number | null;
  changes: number | null;
};

/** When a backend ran. */
export type Run = { started_at: number; alive_at: number };

/**
 * Times in which the device was offline or no backend ran, in order and apart from each other.
 * @param statuses transitions of the status, in order; the first may be before the range.
 * @param runs in any order; times before the first are not known to be gaps.
 */
export function gapsIn(range: Span, statuses: readonly Transition[], runs: readonly Run[]): Span[] {
  const gaps: Span[] = [];
  statuses.forEach(({ at, value }, index) => {
    if (value === '"offline"') gaps.push({ fromMs: at, toMs: statuses[index + 1]?.at ?? range.toMs });
  });
  let aliveMs: number | null = null;
  for (const { started_at: fromMs, alive_at: toMs } of runs.toSorted((a, b) => a.started_at - b.started_at)) {
    if (aliveMs !== null && fromMs > aliveMs) gaps.push({ fromMs: aliveMs, toMs: fromMs });
    aliveMs = Math.max(aliveMs ?? toMs, toMs);
  }
  return joined(gaps.flatMap((gap) => cut(gap, range)));
}

/** @returns none or one. */
function cut(span: Span, range: Span): Span[] {
  const fromMs = Math.max(span.fromMs, range.fromMs);
  const toMs = Math.min(span.toMs, range.toMs);
  return fromMs < toMs ? [{ fromMs, toMs }] : [];
}

function joined(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = result.at(-1);
    if (last !== undefined && span.fromMs <= last.toMs) last.toMs = Math.max(last.toMs, span.toMs);
    else result.push({ ...span });
  }
  return result;
}

/** Gaps that can be seen at this resolution, and one that lasts until now. */
export const visibleGaps = (gaps: readonly Span[], { resolutionMs }: Frame, endMs: number): Span[] =>
  gaps.filter(({ fromMs, toMs }) => toMs - fromMs >= resolutionMs / 2 || toMs >= endMs);

/** A point of a history of transitions. */
export type TransitionPoint = { at: number; value: string | null; share?: number; changes?: number };

/**
 * Transitions as points: exact ones, or one for an interval with many changes. An interval that is over always gets the same points.
 * @param transitions in order; the first may be before the frame and says what holds at its start.
 * @param gaps in order: time that does not count in a share.
 * @param endMs now, if the frame ends later.
 */
export function transitionPoints(
  frame: Frame,
  transitions: readonly Transition[],
  gaps: readonly Span[],
  endMs: number,
): TransitionPoint[] {
  const { resolutionMs, fromMs } = frame;
  const points: TransitionPoint[] = [];
  let held: Transition | null = null;
  let index = 0;
  for (; (transitions[index]?.at ?? Infinity) < fromMs; index++) held = transitions[index] ?? null;
  if (held !== null && (transitions[index]?.at ?? Infinity) > fromMs) {
    points.push(...(held.value === null ? [] : [{ at: fromMs, value: held.value, changes: 0 }]));
  }
  const measure = createMeasure(gaps);
  let openAt: number | null = null;
  while (index < transitions.length) {
    const startMs = intervalOf(transitions[index]!.at, resolutionMs);
    const firstIndex = index;
    while (index < transitions.length && transitions[index]!.at < startMs + resolutionMs) index++;
    const inside = transitions.slice(firstIndex, index);
    const isSummary = isMany(inside);
    // The value after a summary goes on until this interval begins.
    if (openAt !== null && (openAt < startMs || (!isSummary && inside[0]!.at > startMs))) {
      points.push({ at: openAt, value: held?.value ?? null, changes: 0 });
    }
    openAt = null;
    if (isSummary) {
      const span = { fromMs: startMs, toMs: Math.min(startMs + resolutionMs, endMs) };
      points.push({ at: startMs, ...summaryOf(span, held, inside, measure) });
      openAt = startMs + resolutionMs;
    } else {
      for (const { at, value, changes } of inside) points.push({ at, value, ...(changes === 0 ? { changes } : {}) });
    }
    held = inside.at(-1)!;
  }
  if (openAt !== null && openAt < endMs) points.push({ at: openAt, value: held?.value ?? null, changes: 0 });
  return points;
}

const isMany = (transitions: readonly Transition[]): boolean => changesOf(transitions) > maxExactChanges;

const changesOf = (transitions: readonly Transition[]): number =>
  transitions.reduce((sum, { changes }) => sum + (changes ?? 1), 0);

/** Milliseconds of a span outside the gaps. Spans are asked for in order. */
type Measure = (span: Span) => number;

function createMeasure(gaps: readonly Span[]): Measure {
  let first = 0;
  return ({ fromMs, toMs }) => {
    while ((gaps[first]?.toMs ?? Infinity) <= fromMs) first++;
    let length = toMs - fromMs;
    for (let index = first; index < gaps.length && gaps[index]!.fromMs < toMs; index++) {
      length -= Math.min(toMs, gaps[index]!.toMs) - Math.max(fromMs, gaps[index]!.fromMs);
    }
    return length;
  };
}

/**
 * Which value held longest within a span. A text that was summarised before counts with its longest value only; booleans are exact.
 * @param held what holds at the start of the span. @param inside the transitions within it.
 */
function summaryOf(
  span: Span,
  held: Transition | null,
  inside: readonly Transition[],
  measure: Measure,
): { value: string | null; share: number; changes: number } {
  const times = new Map<string, number>();
  let known = 0;
  const count = (value: string | null, ms: number): void => {
    if (value !== null) times.set(value, (times.get(value) ?? 0) + ms);
  };
  const isHeld = held !== null && (inside[0]?.at ?? Infinity) > span.fromMs;
  const all = isHeld ? [{ ...held, at: span.fromMs, span: null }, ...inside] : inside;
  all.forEach(({ at, value, span: length, share }, index) => {
    const toMs = Math.min(all[index + 1]?.at ?? span.toMs, span.toMs);
    const ms = toMs > at ? measure({ fromMs: at, toMs }) : 0;
    if (value === null) return;
    known += ms;
    const part = length === null ? 1 : (share ?? 1);
    count(value, ms * part);
    if (part < 1) count(opposite(value), ms * (1 - part));
  });
  const [longest] = [...times].toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return {
    value: longest?.[0] ?? null,
    share: known > 0 && longest !== undefined ? Math.min(1, longest[1] / known) : 0,
    changes: changesOf(inside),
  };
}

/** Of a boolean; other values have none. */
const opposite = (value: string): string | null => ownValue({ true: 'false', false: 'true' }, value) ?? null;

/**
 * The rows that replace those of a span; null: they stay. Reading gives the same points as before for every resolution that is a multiple of
 * the span.
 */
export function summarised(
  span: Span,
  held: Transition | null,
  inside: readonly Transition[],
  gaps: readonly Span[],
): Transition[] | null {
  const { fromMs, toMs } = span;
  if (inside.length <= 1 || !isMany(inside)) return null;
  const first = inside[0]!;
  const last = inside.at(-1)!;
  // Time in which nothing was known yet has no share.
  const at = held === null || held.value === null ? first.at : fromMs;
  return [
    { at, span: toMs - at, ...summaryOf(span, held, inside, createMeasure(gaps)) },
    { at: toMs, value: last.value, span: null, share: null, changes: 0 },
  ];
}
