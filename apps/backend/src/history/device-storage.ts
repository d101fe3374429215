import { type RawBuilder, sql } from 'kysely';
import { type FoldedReports, jsonRows } from './fold-reports.ts';
import type { DatabaseKind, DatabaseTransaction } from '../store/schema.ts';

/** Kinds of history that grow with the messages of a device. */
export const historyKinds = ['events', 'samples', 'hours', 'transitions'] as const;
export type HistoryKind = (typeof historyKinds)[number];

/** Size of a row with its entries in the indices, besides its texts; measured on SQLite, and about the same on PostgreSQL. */
const rowBytes = { events: 260, samples: 160, hours: 170, transitions: 160 } as const;

/**
 * How rows of a kind are found and measured. `key`: what sorts the rows of one device, and of one capability if `hasCapability`, by age.
 * `keepsLatest`: the latest row of each capability is never deleted because of its size, because it still holds.
 */
export type HistoryTable = {
  table: 'device_events' | 'device_samples' | 'device_hours' | 'device_transitions';
  key: 'id' | 'at' | 'hour';
  hasCapability: boolean;
  keepsLatest: boolean;
  bytes: RawBuilder<number>;
};

const keyed = sql`2 * octet_length(capability)`;

export const historyTables: Readonly<Record<HistoryKind, HistoryTable>> = {
  events: {
    table: 'device_events',
    key: 'id',
    hasCapability: false,
    keepsLatest: false,
    bytes: sql`${sql.lit(rowBytes.events)} + octet_length(kind) + octet_length(data)`,
  },
  samples: {
    table: 'device_samples',
    key: 'at',
    hasCapability: true,
    keepsLatest: false,
    bytes: sql`${sql.lit(rowBytes.samples)} + ${keyed} + coalesce(octet_length(later), 0)`,
  },
  hours: {
    table: 'device_hours',
    key: 'hour',
    hasCapability: true,
    keepsLatest: false,
    bytes: sql`${sql.lit(rowBytes.hours)} + ${keyed}`,
  },
  transitions: {
    table: 'device_transitions',
    key: 'at',
    hasCapability: true,
    keepsLatest: true,
    bytes: sql`${sql.lit(rowBytes.transitions)} + ${keyed} + coalesce(octet_length(value), 0)`,
  },
};

/** SQL: the counted bytes of a device's history. */
export const usedBytes = sql<number>`(${sql.join(
  historyKinds.map((kind) => sql.ref(`${kind}_bytes`)),
  sql` + `,
)})`;

/** Bytes of a transition, as `historyTables` measures the stored row. */
export const transitionBytes = (capability: string, value: string | null): number =>
  rowBytes.transitions + 2 * Buffer.byteLength(capability) + Buffer.byteLength(value ?? '');

/** After so long without a loss, the counts of a device start again. */
const quietMs = 7 * 24 * 60 * 60 * 1000;

type Change = {
  deviceId: string;
  eventsBytes: number;
  samplesBytes: number;
  hoursBytes: number;
  transitionsBytes: number;
  rateEvents: number;
  rateValues: number;
  sizeEvents: number;
  sizeValues: number;
  /** Time of a loss, milliseconds since the epoch; null: there was none. */
  droppedAt: number | null;
};

const columns = {
  deviceId: 'text',
  eventsBytes: 'bigint',
  samplesBytes: 'bigint',
  hoursBytes: 'bigint',
  transitionsBytes: 'bigint',
  rateEvents: 'bigint',
  rateValues: 'bigint',
  sizeEvents: 'bigint',
  sizeValues: 'bigint',
  droppedAt: 'bigint',
} as const;

export const unchanged = (deviceId: string): Change => ({
  deviceId,
  eventsBytes: 0,
  samplesBytes: 0,
  hoursBytes: 0,
  transitionsBytes: 0,
  rateEvents: 0,
  rateValues: 0,
  sizeEvents: 0,
  sizeValues: 0,
  droppedAt: null,
});

/**
 * Counts what a batch of reports adds to the history, and what of it was not taken, in the transaction that writes the batch.
 * @param transitions bytes that its transitions added, by device.
 */
export async function countReports(
  transaction: DatabaseTransaction,
  kind: DatabaseKind,
  { events, samples, overRate }: Pick<FoldedReports, 'events' | 'samples' | 'overRate'>,
  transitions: ReadonlyMap<string, number>,
): Promise<void> {
  const changes = new Map<string, Change>();
  const changeOf = (deviceId: string): Change => {
    let change = changes.get(deviceId);
    if (change === undefined) changes.set(deviceId, (change = unchanged(deviceId)));
    return change;
  };
  for (const { deviceId, kind: name, data } of events) {
    changeOf(deviceId).eventsBytes += rowBytes.events + Buffer.byteLength(name) + Buffer.byteLength(data);
  }
  for (const { deviceId, capability, later } of samples) {
    const more = later === undefined ? 0 : JSON.stringify(later).length;
    changeOf(deviceId).samplesBytes += rowBytes.samples + 2 * Buffer.byteLength(capability) + more;
  }
  for (const [deviceId, bytes] of transitions) changeOf(deviceId).transitionsBytes += bytes;
  for (const [deviceId, { events: rateEvents, values: rateValues, at: droppedAt }] of overRate) {
    Object.assign(changeOf(deviceId), { rateEvents, rateValues, droppedAt });
  }
  await addChanges(transaction, kind, [...changes.values()]);
}

/** Counts a new row of hours, in the transaction that writes it. */
export async function countHour(
  transaction: DatabaseTransaction,
  kind: DatabaseKind,
  { deviceId, capability }: { deviceId: string; capability: string },
): Promise<void> {
  const hoursBytes = rowBytes.hours + 2 * Buffer.byteLength(capability);
  await addChanges(transaction, kind, [{ ...unchanged(deviceId), hoursBytes }]);
}

/** Adds to the counters, for devices that exist. Bytes may be negative: a counter that missed rows stops at 0. */
export async function addChanges(
  transaction: DatabaseTransaction,
  kind: DatabaseKind,
  changes: readonly Change[],
): Promise<void> {
  if (changes.length === 0) return;
  const isLater = sql`coalesce(device_storage.dropped_at, 0) < coalesce(excluded.dropped_at, 0) - ${sql.lit(quietMs)}`;
  const bytes = (column: string) => {
    const sum = sql`device_storage.${sql.ref(column)} + excluded.${sql.ref(column)}`;
    return sql`${sql.ref(column)} = case when ${sum} > 0 then ${sum} else 0 end`;
  };
  const count = (column: string) =>
    sql`${sql.ref(column)} = excluded.${sql.ref(column)} + case when ${isLater} then 0 else device_storage.${sql.ref(column)} end`;
  await sql`
    insert into device_storage (
      device_id, events_bytes, samples_bytes, hours_bytes, transitions_bytes,
      rate_events, rate_values, size_events, size_values, dropped_since, dropped_at)
    select given."deviceId", given."eventsBytes", given."samplesBytes", given."hoursBytes", given."transitionsBytes",
      given."rateEvents", given."rateValues", given."sizeEvents", given."sizeValues", given."droppedAt", given."droppedAt"
    from ${jsonRows(kind, changes, columns)} join devices on devices.id = given."deviceId"
    where true
    on conflict (device_id) do update set
      ${sql.join(historyKinds.map((of) => bytes(`${of}_bytes`)))},
      ${sql.join(['rate_events', 'rate_values', 'size_events', 'size_values'].map(count))},
      dropped_since = case when ${isLater} then excluded.dropped_since else device_storage.dropped_since end,
      dropped_at = coalesce(excluded.dropped_at, device_storage.dropped_at)`.execute(transaction);
}

/** Counts what replaced or completed transitions, in the same transaction; bytes by device, which may be negative. */
export async function countTransitions(
  transaction: DatabaseTransaction,
  kind: DatabaseKind,
  bytes: ReadonlyMap<string, number>,
): Promise<void> {
  const changes = Array.from(bytes, ([deviceId, transitionsBytes]) => ({ ...unchanged(deviceId), transitionsBytes }));
  await addChanges(transaction, kind, changes);
}

/** `values`: how many events or values the row held, if they are to be counted as dropped. */
export type DeletedRow = { deviceId: string; bytes: number; values?: number };

/** The kind of history that a table holds; null: it holds no history of devices. */
export const historyKindOf = (table: string): HistoryKind | null =>
  historyKinds.find((kind) => historyTables[kind].table === table) ?? null;

/**
 * Subtracts deleted rows from the counters, in the transaction that deletes them.
 * @param droppedAt the time, if they were deleted because the storage was full; null: they were old.
 */
export async function countDeleted(
  transaction: DatabaseTransaction,
  kind: DatabaseKind,
  of: HistoryKind,
  rows: readonly DeletedRow[],
  droppedAt: number | null,
): Promise<void> {
  const changes = new Map<string, Change>();
  const column = `${of}Bytes` as const;
  for (const { deviceId, bytes, values = 0 } of rows) {
    const change = changes.get(deviceId) ?? { ...unchanged(deviceId), droppedAt };
    changes.set(deviceId, change);
    change[column] -= bytes;
    change[of === 'events' ? 'sizeEvents' : 'sizeValues'] += values;
  }
  await addChanges(transaction, kind, [...changes.values()]);
}
