import { type RawBuilder, sql } from 'kysely';
import type { DeviceReport } from '../core/device-events.ts';
import { createMergedState, type MergedState, type State } from '../core/device-state.ts';
import { type SampleRow, sampleRows } from './device-samples.ts';

/** The changes of one device by a batch of reports; null leaves a column unchanged. */
export type DeviceChange = {
  id: string;
  lastSeenAt: number | null;
  /** The whole state: reported capabilities merged into the previous state. */
  state: State | null;
  stateAt: number | null;
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
  data: Readonly<Record<string, unknown>>;
  at: number;
};

/** The few rows that result from a batch of reports. */
export type FoldedReports = {
  changes: DeviceChange[];
  events: DeviceEventRow[];
  samples: SampleRow[];
  /** The reports without values that exceed the limits of a state. */
  taken: DeviceReport[];
  /** Ids of devices with left-out values, once for each report. */
  cut: string[];
};

/**
 * Folds reports, in order of arrival, into rows: one change a device, every event, every numeric value that fits into the state.
 * @param before stored states, as JSON text by device.
 * @param newId makes the ids of events; they must sort by time.
 */
export function foldReports(
  reports: readonly DeviceReport[],
  before: ReadonlyMap<string, string>,
  newId: () => string,
): FoldedReports {
  const states = new Map<string, MergedState>();
  const taken: DeviceReport[] = [];
  const cut: string[] = [];
  const changes = new Map<string, DeviceChange>();
  const events: DeviceEventRow[] = [];
  for (const report of reports) {
    const change = changes.get(report.deviceId) ?? unchanged(report.deviceId);
    changes.set(report.deviceId, change);
    const { deviceId, at } = report;
    let kept = report;
    switch (report.kind) {
      case 'state': {
        const merged = states.get(deviceId) ?? createMergedState(before.get(deviceId));
        states.set(deviceId, merged);
        const state = merged.add(report.state);
        if (state !== report.state) {
          kept = { ...report, state };
          cut.push(deviceId);
        }
        change.state = merged.state();
        change.stateAt = at;
        break;
      }
      case 'event':
        events.push({ id: newId(), deviceId, kind: report.eventKind, data: report.data, at });
        break;
      case 'status':
        change.status = report.status;
        change.statusAt = at;
        break;
      case 'handshake':
        change.firmwareVersion = report.firmwareVersion;
        change.chip = report.chip;
        change.kitTag = report.kitTag ?? change.kitTag;
        break;
    }
    taken.push(kept);
    // A last will is not a message that the device itself sent.
    if (report.kind !== 'status' || report.status === 'online') change.lastSeenAt = at;
  }
  return { changes: [...changes.values()], events, samples: sampleRows(taken), taken, cut };
}

const unchanged = (id: string): DeviceChange => ({
  id,
  lastSeenAt: null,
  state: null,
  stateAt: null,
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
