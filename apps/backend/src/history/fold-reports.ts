import { type RawBuilder, sql } from 'kysely';
import type { DeviceReport } from '../core/device-events.ts';
import { createMergedState, type MergedState, type State } from '../core/device-state.ts';
import { readValueTimes, type ValueTimes, valueTimesAfter, valueTimesText } from '../core/value-times.ts';
import { isOverRate, sampleOf, type SampleRow, sampleRows } from './device-samples.ts';
import { createTransitionFold, type TransitionRow } from './transition-fold.ts';

/** The changes of one device by a batch of reports; null leaves a column unchanged. */
export type DeviceChange = {
  id: string;
  lastSeenAt: number | null;
  /** The whole state: reported capabilities merged into the previous state. */
  state: State | null;
  stateAt: number | null;
  /** Text of `value_times`; empty: none. */
  valueTimes: string | null;
  /** Text of `fault`; empty: none. */
  fault: string | null;
  status: 'online' | 'offline' | null;
  statusAt: number | null;
  firmwareVersion: string | null;
  chip: string | null;
  kitTag: string | null;
};

type DeviceEventRow = {
  id: string;
  deviceId: string;
  kind: string;
  /** JSON object. */
  data: string;
  at: number;
};

/** The few rows that result from a batch of reports. */
export type FoldedReports = {
  changes: DeviceChange[];
  events: DeviceEventRow[];
  samples: SampleRow[];
  /** What the history does not take, by device; `at`: time of the last. */
  overRate: ReadonlyMap<string, OverRate>;
  transitions: TransitionRow[];
  /** The reports without values that exceed the limits of a state. */
  taken: DeviceReport[];
  /** Ids of devices with left-out values, once for each report. */
  cut: string[];
};

type OverRate = { events: number; values: number; at: number };

/** Columns of a device that reports a state. */
export type StoredState = { state: string; state_at: number | null; value_times: string | null };

/**
 * Folds reports, in order of arrival, into rows: one change a device, every event and every number that fits into the state, except those of
 * reports that are over the rate of their device's history, and every change of another value.
 * @param before stored states by device.
 * @param newId makes the ids of events; they must sort by time.
 */
export function foldReports(
  reports: readonly DeviceReport[],
  before: ReadonlyMap<string, StoredState>,
  newId: () => string,
): FoldedReports {
  const states = new Map<string, DeviceFold>();
  const taken: DeviceReport[] = [];
  const cut: string[] = [];
  const changes = new Map<string, DeviceChange>();
  const events: DeviceEventRow[] = [];
  const overRate = new Map<string, OverRate>();
  const transitions = createTransitionFold();
  for (const report of reports) {
    const change = changes.get(report.deviceId) ?? unchanged(report.deviceId);
    changes.set(report.deviceId, change);
    const { deviceId, at } = report;
    let kept = report;
    switch (report.kind) {
      case 'state': {
        const fold = states.get(deviceId) ?? foldOf(before.get(deviceId));
        states.set(deviceId, fold);
        const stateBefore = fold.merged.state();
        const state = addReport(fold, report.state, at);
        transitions.state(report, stateBefore, state);
        if (state !== report.state) {
          kept = { ...report, state };
          cut.push(deviceId);
        }
        break;
      }
      case 'event':
        if (report.isOverRate === true) break;
        events.push({ id: newId(), deviceId, kind: report.eventKind, data: JSON.stringify(report.data), at });
        break;
      case 'status':
        change.status = report.status;
        change.statusAt = at;
        transitions.status(deviceId, at, report.status);
        break;
      case 'handshake':
        change.firmwareVersion = report.firmwareVersion;
        change.chip = report.chip;
        change.kitTag = report.kitTag ?? change.kitTag;
        break;
      case 'fault':
        change.fault = report.fault === null ? '' : JSON.stringify(report.fault);
        break;
    }
    if (isOverRate(kept)) countOverRate(overRate, kept);
    taken.push(kept);
    // A last will is not a message that the device itself sent.
    if (report.kind !== 'status' || report.status === 'online') change.lastSeenAt = at;
  }
  for (const [deviceId, { merged, stateAt, times }] of states) {
    Object.assign(changes.get(deviceId)!, { state: merged.state(), stateAt, valueTimes: valueTimesText(times) });
  }
  const samples = sampleRows(taken);
  const rows = transitions.rows();
  return { changes: [...changes.values()], events, samples, transitions: rows, overRate, taken, cut };
}

function countOverRate(counts: Map<string, OverRate>, report: DeviceReport): void {
  const { deviceId, at } = report;
  const { events, values } = counts.get(deviceId) ?? { events: 0, values: 0 };
  const more =
    report.kind === 'state' ? Object.values(report.state).filter((value) => sampleOf(value) !== null).length : 0;
  counts.set(deviceId, { events: events + (report.kind === 'event' ? 1 : 0), values: values + more, at });
}

/** The state of a device within a batch. */
type DeviceFold = { merged: MergedState; stateAt: number | null; times: ValueTimes };

const foldOf = (stored: StoredState | undefined): DeviceFold => ({
  merged: createMergedState(stored?.state),
  stateAt: stored?.state_at ?? null,
  times: readValueTimes(stored?.value_times ?? null),
});

/** @returns the values that fit; the given object itself when all do. */
function addReport(fold: DeviceFold, reported: State, at: number): State {
  const { merged, stateAt, times } = fold;
  const state = merged.state();
  const taken = merged.add(reported);
  fold.times = valueTimesAfter(times, { state, stateAt }, taken);
  fold.stateAt = at;
  return taken;
}

const unchanged = (id: string): DeviceChange => ({
  id,
  lastSeenAt: null,
  state: null,
  stateAt: null,
  valueTimes: null,
  fault: null,
  status: null,
  statusAt: null,
  firmwareVersion: null,
  chip: null,
  kitTag: null,
});

type ColumnType = 'text' | 'bigint' | 'double precision';

/**
 * Many rows as one parameter: a table expression named `given` over a JSON array of objects. The statement text is the same for any number
 * of rows, so it is compiled once, and no limit on parameters applies.
 * @param columns name of each key, which becomes the column's name, and its type.
 */
export function jsonRows(
  kind: 'sqlite' | 'postgres',
  rows: readonly object[],
  columns: Readonly<Record<string, ColumnType>>,
): RawBuilder<unknown> {
  const names = Object.entries(columns);
  const json = JSON.stringify(rows);
  if (kind === 'postgres') {
    const definitions = names.map(([name, type]) => sql`${sql.ref(name)} ${sql.raw(type)}`);
    return sql`json_to_recordset(${json}::json) as given(${sql.join(definitions)})`;
  }
  const values = names.map(([name]) => sql`value ->> ${sql.lit(`$.${name}`)} as ${sql.ref(name)}`);
  return sql`(select ${sql.join(values)} from json_each(${json})) as given`;
}
