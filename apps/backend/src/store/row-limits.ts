import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { rowsAtOnce } from './history-rows.ts';
import type { Database, DatabaseKind, Schema } from './schema.ts';

type RowLimit = {
  table: keyof Schema;
  /** Sorts by age. */
  key: string;
  /** The newest that stay, whatever their age. */
  most: number;
  /** What also stays. */
  isKept: RawBuilder<unknown>;
};

/** Tables that grow with what automations, people and restarts do, not with the messages of devices. */
export const rowLimits: readonly RowLimit[] = [
  { table: 'device_commands', key: 'at', most: 20_000, isKept: sql`status = 'pending'` },
  { table: 'notifications', key: 'id', most: 10_000, isKept: sql`1 = 0` },
  // Those of each automation are pruned every hour (`automations/`); in between it can run often.
  { table: 'automation_runs', key: 'id', most: 20_000, isKept: sql`ended_at is null` },
  { table: 'station_runs', key: 'alive_at', most: 10_000, isKept: sql`1 = 0` },
  {
    ...{ table: 'firmware_rollouts', key: 'id', most: 200 },
    // Of firmware that the station still has, the rollout says that it is not to be started again.
    isKept: sql`state in ('waiting_approval', 'running', 'paused') or exists (
      select 1 from firmware_images
      where firmware_images.type = firmware_rollouts.type and firmware_images.version = firmware_rollouts.version)`,
  },
];

/** Deletes the oldest rows over the limits, in blocks; it yields to the event loop between them. */
export async function trimRows(
  parts: { db: Database; kind: DatabaseKind },
  limits: readonly RowLimit[] = rowLimits,
): Promise<void> {
  for (const limit of limits) await trim(parts, limit);
}

async function trim(
  { db, kind }: { db: Database; kind: DatabaseKind },
  { table, key, most, isKept }: RowLimit,
): Promise<void> {
  const count = await sql<{ rows: number | string }>`select count(*) as rows from ${sql.table(table)}`.execute(db);
  if (Number(count.rows[0]?.rows ?? 0) <= most) return;
  const found = await sql<{ key: string | number }>`
    select ${sql.ref(key)} as key from ${sql.table(table)} order by ${sql.ref(key)} desc limit 1 offset ${sql.lit(most)}`.execute(
    db,
  );
  const oldest = found.rows[0]?.key;
  if (oldest === undefined) return;
  const place = kind === 'postgres' ? sql`ctid` : sql`rowid`;
  const rows = sql`
    select ${place} from ${sql.table(table)}
    where ${sql.ref(key)} <= ${oldest} and not (${isKept}) limit ${sql.lit(rowsAtOnce)}`;
  for (let removed = BigInt(rowsAtOnce); removed === BigInt(rowsAtOnce);) {
    await nextTurn();
    const deleted = await sql`delete from ${sql.table(table)} where ${place} in (${rows})`.execute(db);
    removed = deleted.numAffectedRows ?? 0n;
  }
}
