import { type RawBuilder, sql } from 'kysely';
import {
  addChanges,
  countDeleted,
  type HistoryKind,
  type HistoryTable,
  historyTables,
  unchanged,
} from './device-storage.ts';
import { countedUsage } from './history-rows.ts';
import { type DeletedSample, keepSum, laterValues } from './hour-parts.ts';
import type { Database, DatabaseKind, DatabaseTransaction } from '../store/schema.ts';

type Parts = { db: Database; kind: DatabaseKind };

/** Rows that one step looks at. */
const rowsOfStep = 256;
const hourMs = 60 * 60 * 1000;

/**
 * Deletes the oldest rows of one kind of a device's history, about `bytes` and at most 256 rows, and counts them as dropped. Samples are summed
 * up for their hour before they go, and the latest transition of each value stays.
 * @param at time of the loss. @returns the bytes that were deleted; 0: there are no rows that may go, and the counter is corrected.
 */
export function shedOldest(
  { db, kind }: Parts,
  { deviceId, of, bytes, at }: { deviceId: string; of: HistoryKind; bytes: number; at: number },
): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    const found = await findOldest(transaction, deviceId, of, bytes);
    if (found === null) {
      const counted = await countedUsage(transaction, deviceId, of);
      await addChanges(transaction, kind, [{ ...unchanged(deviceId), [`${of}Bytes`]: -counted }]);
      return 0;
    }
    const { table, bytes: rowBytes } = historyTables[of];
    const statement = sql`delete from ${sql.table(table)} where ${found.where} returning ${rowBytes} as bytes`;
    let deleted: { bytes: number; values: number }[];
    if (of === 'samples') {
      const { rows } = await sql<DeletedSample & { bytes: number }>`${statement}, at, value, later`.execute(
        transaction,
      );
      await keepSum(transaction, { deviceId, capability: found.capability ?? '' }, rows);
      deleted = rows.map((row) => ({ bytes: row.bytes, values: 1 + laterValues(row.later).length }));
    } else {
      const { rows } = await sql<{ bytes: number }>`${statement}`.execute(transaction);
      deleted = rows.map((row) => ({ bytes: row.bytes, values: 1 }));
    }
    const counted = deleted.map((row) => ({ deviceId, ...row }));
    await countDeleted(transaction, kind, of, counted, at);
    return counted.reduce((sum, row) => sum + row.bytes, 0);
  });
}

type Oldest = { where: RawBuilder<unknown>; capability: string | null };

/** The oldest rows that may go; samples of one hour only, because they are summed up together. Null: there are none. */
async function findOldest(
  transaction: DatabaseTransaction,
  deviceId: string,
  of: HistoryKind,
  bytes: number,
): Promise<Oldest | null> {
  const found = historyTables[of];
  const { table, key } = found;
  const capability = found.hasCapability ? await oldestCapability(transaction, deviceId, found) : null;
  if (found.hasCapability && capability === null) return null;
  const ofValue = sql`device_id = ${deviceId} ${capability === null ? sql`` : sql`and capability = ${capability}`}`;
  const kept = found.keepsLatest
    ? sql`and ${sql.ref(key)} < (select max(${sql.ref(key)}) from ${sql.table(table)} where ${ofValue})`
    : sql``;
  const { rows } = await sql<{ key: string | number; bytes: number }>`
    select ${sql.ref(key)} as key, ${found.bytes} as bytes from ${sql.table(table)} where ${ofValue} ${kept}
    order by ${sql.ref(key)} limit ${sql.lit(rowsOfStep)}`.execute(transaction);
  const hourOf = (row: { key: string | number }): number =>
    of === 'samples' ? Math.floor(Number(row.key) / hourMs) : 0;
  let last: string | number | null = null;
  let size = 0;
  for (const row of rows) {
    if (size >= bytes || hourOf(row) !== hourOf(rows[0]!)) break;
    last = row.key;
    size += row.bytes;
  }
  return last === null ? null : { where: sql`${ofValue} and ${sql.ref(key)} <= ${last}`, capability };
}

/** The capability with the oldest row that may go; it skips from key to key, because the rows may be millions. */
async function oldestCapability(
  transaction: DatabaseTransaction,
  deviceId: string,
  { table, key, keepsLatest }: HistoryTable,
): Promise<string | null> {
  const from = sql`${sql.table(table)} where device_id = ${deviceId}`;
  const edge = (name: 'min' | 'max') =>
    sql`(select ${sql.raw(name)}(${sql.ref(key)}) from ${from} and capability = names.name)`;
  const { rows } = await sql<{ capability: string }>`
    with recursive names(name) as (
      select (select min(capability) from ${from}) union all
      select (select min(capability) from ${from} and capability > names.name) from names where names.name is not null)
    select name as capability from names
    where name is not null ${keepsLatest ? sql`and ${edge('min')} < ${edge('max')}` : sql``}
    order by ${edge('min')} limit 1`.execute(transaction);
  return rows[0]?.capability ?? null;
}
