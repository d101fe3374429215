import { isoTime } from '@station/kit/clock';
import type { State } from './device-state.ts';

/** Times (milliseconds since the epoch) of the values that the latest report did not contain. All others are from that report. */
export type ValueTimes = ReadonlyMap<string, number>;

const none: ValueTimes = new Map();

/**
 * @param times before the report.
 * @param state before the report; its latest report was at `stateAt`.
 * @param reported the values that the report changed.
 */
export function valueTimesAfter(
  times: ValueTimes,
  { state, stateAt }: { state: State; stateAt: number | null },
  reported: State,
): ValueTimes {
  // The fast path: most devices always report all of their values.
  let older: Map<string, number> | null = null;
  for (const key of Object.keys(state)) {
    if (Object.hasOwn(reported, key)) continue;
    const at = times.get(key) ?? stateAt;
    if (at !== null) (older ??= new Map<string, number>()).set(key, at);
  }
  return older ?? none;
}

/** @param text as `valueTimesText` returns it. Null and unreadable JSON (damaged disk) count as none. */
export function readValueTimes(text: string | null): ValueTimes {
  if (text === null || text === '') return none;
  try {
    const entries = Object.entries(JSON.parse(text) as object);
    return new Map(entries.filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
  } catch {
    return none;
  }
}

/** A JSON object; the empty text for none. */
export const valueTimesText = (times: ValueTimes): string =>
  times.size === 0 ? '' : JSON.stringify(Object.fromEntries(times));

/** As people see them: without values of the same millisecond as the latest report. */
export function stateTimesOf(times: ValueTimes, stateAt: number | null): Record<string, string> {
  const older = [...times].filter(([, at]) => at !== stateAt);
  return Object.fromEntries(older.map(([key, at]) => [key, isoTime(at)]));
}
