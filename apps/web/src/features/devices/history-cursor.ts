import type { DeviceHistory, NumberHistory, NumberPoint } from '@station/protocol/device-history';
import { ownValue } from '@station/protocol/own-value';
import type { Span } from './history-span.ts';
import { numberSeries, piecesOf, type Piece, spansOf, stepSeries } from './history-view.ts';

/** What a chart says about a time. */
export type Answer = { kind: 'number'; point: NumberPoint } | ({ kind: 'held' } & Piece);

/** @returns null in a gap, before the first report and after the last word of the station. */
export function answerAt(history: DeviceHistory, atMs: number): Answer | null {
  if (history.kind === 'number') return numberAt(history, atMs);
  const endMs = Date.parse(history.to);
  const piece = piecesOf(history).find(
    ({ fromMs, toMs }) => fromMs <= atMs && (atMs < toMs || (atMs === endMs && toMs === endMs)),
  );
  return piece === undefined ? null : { kind: 'held', ...piece };
}

function numberAt(history: NumberHistory, atMs: number): Answer | null {
  if (atMs > Date.parse(history.to)) return null;
  const point = history.points.findLast(({ at }) => Date.parse(at) <= atMs);
  if (point === undefined) return null;
  const heldFromMs = Date.parse(point.at) + history.resolutionMs;
  // A value does not hold beyond a gap.
  const isUnknown = spansOf(history).some(
    ({ fromMs, toMs }) => fromMs <= atMs && (atMs < toMs || (atMs >= heldFromMs && toMs > heldFromMs)),
  );
  return isUnknown ? null : { kind: 'number', point };
}

/** The times at which a chart has something to say, for going from one to the next with the keyboard. */
export function momentsOf(histories: readonly DeviceHistory[], { fromMs, toMs }: Span): number[] {
  const times = histories.flatMap((history) =>
    history.kind === 'number' ? numberSeries(history).times : stepSeries(history, []).times,
  );
  const moments = times.map((at) => Math.round(at * 1000)).filter((at) => at >= fromMs && at <= toMs);
  return [...new Set(moments)].sort((a, b) => a - b);
}

/** Where a key takes the cursor; null: the key is not for it. Without a cursor, it begins at the last moment. */
export function movedCursor(key: string, atMs: number | null, moments: readonly number[]): number | null {
  const last = moments.length - 1;
  const index = atMs === null ? last + 1 : moments.findIndex((moment) => moment >= atMs);
  const here = index < 0 ? last + 1 : index;
  // Between two moments, the one to the right is one step away.
  const rightOf = moments[here] === atMs ? here + 1 : here;
  const page = Math.max(1, Math.round(moments.length / 10));
  const target: Record<string, number> = {
    ArrowLeft: here - 1,
    ArrowDown: here - 1,
    ArrowRight: rightOf,
    ArrowUp: rightOf,
    PageDown: here - page,
    PageUp: here + page,
    Home: 0,
    End: last,
  };
  const wanted = ownValue(target, key);
  return wanted === undefined ? null : (moments[Math.min(last, Math.max(0, wanted))] ?? null);
}
