import { nextTurn } from '@station/kit/timers';
import { type RawBuilder, sql } from 'kysely';
import { rowsAtOnce } from '../history/history-rows.ts';
import type { Database, DatabaseKind, Schema } from '../store/schema.ts';

type RowLimit = {
  table: keyof Schema;
  /** Sorts by age. */
  key: string;
  /** The newest that stay, whatever their age. */
  most: number;
  /** What also stays. */
  isKept: RawBuilder<unknown>;
  /** What a row takes with what belongs to it. Unset: its size is bounded by its kind. */
  bytes?: RawBuilder<unknown>;
};

/** Tables that grow with what automations, people and restarts do, not with the messages of devices. */
export const rowLimits: readonly RowLimit[] = [
  { table: 'device_commands', key: 'at', most: 20_000, isKept: sql`status = 'pending'` },
  { table: 'notifications', key: 'id', most: 10_000, isKept: sql`1 = 0` },
  // Those of each automation are pruned every hour (`automations/`); in between it can run often.
  {
    table: 'automation_runs',
    key: 'id',
    most: 20_000,
    isKept: sql`ended_at is null`,
    // Its steps take less than their nodes in its flow.
    bytes: sql`2 * octet_length(flow) + octet_length(trigger) + 500`,
  },
  { table: 'station_events', key: 'id', most: 5_000, isKept: sql`1 = 0`, bytes: sql`octet_length(data) + 200` },
  { table: 'station_runs', key: 'alive_at', most: 10_000, isKept: sql`1 = 0` },
  {
    table: 'firmware_rollouts',
    key: 'id',
    most: 200,
    // Of firmware that the station still has, the rollout says that it is not to be started again.
    isKept: sql`state in ('waiting_approval', 'running', 'paused') or exists (
      select 1 from firmware_images
      where firmware_images.type = firmware_rollouts.type and firmware_images.version = firmware_rollouts.version)`,
  },
];

type Parts = { db: Database; kind: DatabaseKind };

/**
 * Deletes the oldest rows over the limits, in blocks; it yields to the event loop between them.
 * @param mostBytes of a table whose rows differ in size; Infinity: any number.
 */
export async function trimRows(
  parts: Parts,
  mostBytes: number,
  limits: readonly RowLimit[] = rowLimits,
): Promise<void> {
  for (const limit of limits) {
    const overCount = await keyOverCount(parts, limit);
    if (overCount !== undefined) await deleteUpTo(parts, limit, overCount);
    if (limit.bytes === undefined || mostBytes === Infinity) continue;
    const overBytes = await keyOverBytes(parts, limit.bytes, limit, mostBytes);
    if (overBytes !== undefined) await deleteUpTo(parts, limit, overBytes);
  }
}

type Key = string | number;

/** The newest key that is one too many. */
async function keyOverCount({ db }: Parts, { table, key, most }: RowLimit): Promise<Key | undefined> {
  const count = await sql<{ rows: number | string }>`select count(*) as rows from ${sql.table(table)}`.execute(db);
  if (Number(count.rows[0]?.rows ?? 0) <= most) return undefined;
  const { rows } = await sql<{ key: Key }>`
    select ${sql.ref(key)} as key from ${sql.table(table)} order by ${sql.ref(key)} desc limit 1 offset ${sql.lit(most)}`.execute(
    db,
  );
  return rows[0]?.key;
}

/** The newest key with which the newer rows are too large. */
async function keyOverBytes(
  { db }: Parts,
  bytes: RawBuilder<unknown>,
  { table, key }: RowLimit,
  mostBytes: number,
): Promise<Key | undefined> {
  const { rows } = await sql<{ key: Key }>`
    select key from (
      select ${sql.ref(key)} as key, sum(${bytes}) over (order by ${sql.ref(key)} desc) as total from ${sql.table(table)}
    ) as sized
    where total > ${Math.floor(mostBytes)} order by key desc limit 1`.execute(db);
  return rows[0]?.key;
}

async function deleteUpTo({ db, kind }: Parts, { table, key, isKept }: RowLimit, last: Key): Promise<void> {
  const place = kind === 'postgres' ? sql`ctid` : sql`rowid`;
  const rows = sql`
    select ${place} from ${sql.table(table)}
    where ${sql.ref(key)} <= ${last} and not (${isKept}) limit ${sql.lit(rowsAtOnce)}`;
  for (let removed = BigInt(rowsAtOnce); removed === BigInt(rowsAtOnce);) {
    await nextTurn();
    const deleted = await sql`delete from ${sql.table(table)} where ${place} in (${rows})`.execute(db);
    removed = deleted.numAffectedRows ?? 0n;
  }
}
