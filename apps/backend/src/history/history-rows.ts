import { nextTurn } from '@station/kit/timers';
import { type RawBuilder, sql } from 'kysely';
import {
  addChanges,
  countDeleted,
  type DeletedRow,
  historyKindOf,
  historyKinds,
  type HistoryKind,
  historyTables,
  unchanged,
  usedBytes,
} from './device-storage.ts';
import type { Database, DatabaseKind, DatabaseTransaction } from '../store/schema.ts';

type Parts = { db: Database; kind: DatabaseKind };

/** Rows that one statement deletes or measures. */
export const rowsAtOnce = 2_000;

/** Deletes rows in blocks and yields to the event loop between them. A partial deletion is harmless. */
export async function deleteRows(
  { db, kind }: Parts,
  table:
    | 'device_samples'
    | 'device_hours'
    | 'device_transitions'
    | 'station_runs'
    | 'device_events'
    | 'device_commands',
  where: RawBuilder<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  // Physical row ids: sqlite.org/rowidtable.html; PostgreSQL's manual, section 5.6.
  const place = kind === 'postgres' ? sql`ctid` : sql`rowid`;
  const rows = sql`select ${place} from ${sql.table(table)} where ${where} limit ${sql.lit(rowsAtOnce)}`;
  const statement = sql`delete from ${sql.table(table)} where ${place} in (${rows})`;
  const of = historyKindOf(table);
  for (let removed = rowsAtOnce; removed === rowsAtOnce && !signal?.aborted;) {
    await nextTurn();
    removed =
      of === null
        ? Number((await statement.execute(db)).numAffectedRows ?? 0)
        : await db.transaction().execute((transaction) => deleteCounted(transaction, kind, of, statement));
  }
}

/** @returns how many rows. */
async function deleteCounted(
  transaction: DatabaseTransaction,
  kind: DatabaseKind,
  of: HistoryKind,
  statement: RawBuilder<unknown>,
): Promise<number> {
  const returning = sql`returning device_id as "deviceId", ${historyTables[of].bytes} as bytes`;
  const { rows } = await sql<DeletedRow>`${statement} ${returning}`.execute(transaction);
  await countDeleted(transaction, kind, of, rows, null);
  return rows.length;
}

/** Bytes of each kind of a device's history, as counted. */
export type DeviceUsage = { deviceId: string } & Readonly<Record<HistoryKind, number>>;

/** The device whose history takes most; null: there is no history. */
export async function largestUsage({ db }: Parts): Promise<DeviceUsage | null> {
  const query = sql<DeviceUsage>`
    select device_id as "deviceId", ${usageColumns} from device_storage
    where ${usedBytes} > 0 order by ${usedBytes} desc limit 1`;
  return (await query.execute(db)).rows[0] ?? null;
}

const usageColumns = sql.join(historyKinds.map((kind) => sql`${sql.ref(`${kind}_bytes`)} as ${sql.ref(kind)}`));

/** What is counted of one kind of a device's history. */
export async function countedUsage(
  transaction: DatabaseTransaction,
  deviceId: string,
  of: HistoryKind,
): Promise<number> {
  const query = sql<DeviceUsage>`select ${usageColumns} from device_storage where device_id = ${deviceId}`;
  return (await query.execute(transaction)).rows[0]?.[of] ?? 0;
}

/** Counted bytes of the history of all devices. */
export async function countedBytes({ db }: Parts): Promise<number> {
  const query = sql<{ bytes: number | string | null }>`select sum(${usedBytes}) as bytes from device_storage`;
  return Number((await query.execute(db)).rows[0]?.bytes ?? 0);
}

/** What was dropped since each device's counts began, of all devices. */
export type DroppedTotals = { rateEvents: number; rateValues: number; sizeEvents: number; sizeValues: number };

export async function droppedTotals({ db }: Parts): Promise<DroppedTotals> {
  const query = sql<Record<keyof DroppedTotals, number | string | null>>`
    select sum(rate_events) as "rateEvents", sum(rate_values) as "rateValues",
      sum(size_events) as "sizeEvents", sum(size_values) as "sizeValues" from device_storage`;
  const row = (await query.execute(db)).rows[0];
  const rateEvents = Number(row?.rateEvents ?? 0);
  const rateValues = Number(row?.rateValues ?? 0);
  return { rateEvents, rateValues, sizeEvents: Number(row?.sizeEvents ?? 0), sizeValues: Number(row?.sizeValues ?? 0) };
}

/** The row of `settings` that tells that the counters hold what was written before they existed. */
const measuredKey = 'history_measured';
/** Transitions are counted too. */
const measuredVersion = '2';

/** Whether the counters hold everything: an older release neither counts what it writes nor what it deletes. */
export async function isHistoryMeasured({ db }: Parts): Promise<boolean> {
  const found = await db.selectFrom('settings').select('value').where('key', '=', measuredKey).executeTakeFirst();
  return found?.value === measuredVersion;
}

/** History came from elsewhere: the next start of the storage counts all of it anew. */
export async function forgetMeasured(db: DatabaseTransaction): Promise<void> {
  await db.deleteFrom('settings').where('key', '=', measuredKey).execute();
}

/** Counts all history anew, in small steps. After an interruption it is done again. @param now milliseconds since the epoch. */
export async function measureHistory(parts: Parts, now: number, signal: AbortSignal): Promise<void> {
  const { db, kind } = parts;
  await db.deleteFrom('settings').where('key', '=', measuredKey).execute();
  await db
    .updateTable('device_storage')
    .set({ events_bytes: 0, samples_bytes: 0, hours_bytes: 0, transitions_bytes: 0 })
    .execute();
  for (const { id: deviceId } of await db.selectFrom('devices').select('id').execute()) {
    for (const of of historyKinds) {
      // What is written meanwhile is counted as it is written.
      for (let after: Place | null = start; after !== null;) {
        await nextTurn();
        if (signal.aborted) return;
        const block: MeasuredBlock = await measureBlock(parts, deviceId, of, after, now);
        await db
          .transaction()
          .execute((transaction) =>
            addChanges(transaction, kind, [{ ...unchanged(deviceId), [`${of}Bytes`]: block.bytes }]),
          );
        after = block.next;
      }
    }
  }
  const row = { key: measuredKey, value: measuredVersion, updated_at: now };
  await db
    .insertInto('settings')
    .values(row)
    .onConflict((conflict) => conflict.column('key').doNothing())
    .execute();
}

type Place = { capability: string; key: string | number };
type MeasuredBlock = { bytes: number; next: Place | null };
const start: Place = { capability: '', key: '' };

async function measureBlock(
  { db }: Parts,
  deviceId: string,
  of: HistoryKind,
  after: Place,
  before: number,
): Promise<MeasuredBlock> {
  const { table, key, hasCapability, bytes } = historyTables[of];
  const isFirst = after === start;
  const from = hasCapability
    ? isFirst
      ? sql``
      : sql`and (capability, ${sql.ref(key)}) > (${after.capability}, ${after.key})`
    : sql`and ${sql.ref(key)} > ${after.key}`;
  const time = key === 'id' ? 'at' : key;
  const { rows } = await sql<Place & { bytes: number }>`
    select ${hasCapability ? sql`capability` : sql`''`} as capability, ${sql.ref(key)} as key, ${bytes} as bytes
    from ${sql.table(table)} where device_id = ${deviceId} ${from} and ${sql.ref(time)} < ${before}
    order by ${hasCapability ? sql`capability, ` : sql``}${sql.ref(key)} limit ${sql.lit(rowsAtOnce)}`.execute(db);
  const last = rows.at(-1);
  return {
    bytes: rows.reduce((sum, row) => sum + row.bytes, 0),
    next: last === undefined || rows.length < rowsAtOnce ? null : { capability: last.capability, key: last.key },
  };
}
