/** A stretch of time on a chart, milliseconds since the epoch. */
export type Span = { fromMs: number; toMs: number };

/** Below that a chart would show single intervals of the finest resolution. */
const shortestMs = 5 * 60 * 1000;
const longestMs = 365 * 24 * 60 * 60 * 1000;

/** The span with a length that a chart can show, and not after now. */
function shownSpan({ fromMs, toMs }: Span, nowMs: number): Span {
  const lengthMs = Math.min(longestMs, Math.max(shortestMs, toMs - fromMs));
  const endMs = Math.min(nowMs, Math.round((fromMs + toMs + lengthMs) / 2));
  return { fromMs: endMs - Math.round(lengthMs), toMs: endMs };
}

/** What was drawn over with the mouse. */
export const selected = (fromMs: number, toMs: number, nowMs: number): Span =>
  shownSpan({ fromMs: Math.min(fromMs, toMs), toMs: Math.max(fromMs, toMs) }, nowMs);

/**
 * @param factor of the length: below 1 is closer.
 * @param aroundMs the time that stays where it is.
 */
export const zoomed = ({ fromMs, toMs }: Span, factor: number, aroundMs: number, nowMs: number): Span =>
  shownSpan({ fromMs: aroundMs - (aroundMs - fromMs) * factor, toMs: aroundMs + (toMs - aroundMs) * factor }, nowMs);

/** @param part of the length; negative is earlier. */
export function moved({ fromMs, toMs }: Span, part: number, nowMs: number): Span {
  const byMs = Math.min((toMs - fromMs) * part, nowMs - toMs);
  return { fromMs: Math.round(fromMs + byMs), toMs: Math.round(toMs + byMs) };
}

/** The span in which two times are under two fingers again; places are parts of the width. */
export function pinched(times: readonly [number, number], places: readonly [number, number], nowMs: number): Span {
  const lengthMs = Math.abs((times[1] - times[0]) / (places[1] - places[0] || 1));
  const fromMs = (times[0] + times[1]) / 2 - (lengthMs * (places[0] + places[1])) / 2;
  return shownSpan({ fromMs, toMs: fromMs + lengthMs }, nowMs);
}
