import { ownValue } from '@station/protocol/own-value';
import type { DeviceReport } from '../core/device-events.ts';

/** The numbers of one capability of a device within one second, stored in one row. */
export type SampleRow = {
  deviceId: string;
  capability: string;
  /** Time of the first, milliseconds since the epoch. */
  at: number;
  value: number;
  /** The others: milliseconds after the first, and the value. All lie in the second of the first, so no row spans two hours. */
  later?: [afterMs: number, value: number][];
};

export const secondMs = 1_000;

/** No device measures more. Sums of numbers near the limit of a double overflow; so do squares, which PostgreSQL's `avg` adds up. */
export const largestSample = 1e100;

/**
 * Packs the numbers of states into few rows, because a row costs far more than a value. Of two values in one millisecond
 * the later one is kept.
 * @returns no two rows with the same device, capability and time.
 */
export function sampleRows(reports: readonly DeviceReport[]): SampleRow[] {
  const rows: SampleRow[] = [];
  const seconds = new Map<number, Map<string, Map<string, SampleRow>>>();
  for (const report of reports) {
    if (report.kind !== 'state' || isOverRate(report)) continue;
    const { deviceId, at, state } = report;
    const ofDevice = inner(inner(seconds, Math.floor(at / secondMs)), deviceId);
    for (const capability of Object.keys(state)) {
      const value = sampleOf(ownValue(state, capability));
      if (value === null) continue;
      const row = ofDevice.get(capability);
      if (row !== undefined) {
        add(row, at - row.at, value);
        continue;
      }
      const first: SampleRow = { deviceId, capability, at, value };
      ofDevice.set(capability, first);
      rows.push(first);
    }
  }
  return rows;
}

/** Null: it is no number to draw. */
export const sampleOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

/** The history does not take it; the latest state does. */
export const isOverRate = (report: DeviceReport): boolean =>
  (report.kind === 'state' || report.kind === 'event') && report.isOverRate === true;

function add(row: SampleRow, afterMs: number, value: number): void {
  const last = row.later?.at(-1);
  if (last === undefined && afterMs === 0) row.value = value;
  else if (last?.[0] === afterMs) last[1] = value;
  else (row.later ??= []).push([afterMs, value]);
}

function inner<K, L, V>(maps: Map<K, Map<L, V>>, key: K): Map<L, V> {
  let map = maps.get(key);
  if (map === undefined) maps.set(key, (map = new Map<L, V>()));
  return map;
}
