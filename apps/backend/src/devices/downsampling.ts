import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql, type RawBuilder } from 'kysely';
import type { Store } from '../store/database.ts';
import { samplesOf } from './stored-samples.ts';

type Parts = Pick<Store, 'db' | 'kind'>;

export const hourMs = 60 * 60 * 1000;
/** Rows that one statement removes. */
export const rowsAtOnce = 2_000;

/**
 * Makes hours of samples whose hour is over, one value of one device and one hour at a time: on SQLite a statement holds up everything else.
 * Between two there is a turn of the event loop.
 *
 * All of one hour come before those of the next. Where it ended, or the process did, it goes on: from the last hour that is there, that one
 * again, for it may not be whole. Times are those of receipt, so nothing is added to an hour before.
 * @param before milliseconds since the epoch, where an hour begins.
 * @returns why values were left out that cannot be summed up, the first of the reasons; null: none were.
 * @throws (rejects) when the database fails; then it is not known what was summed up.
 */
export async function sumUpHours(parts: Parts, before: number, signal?: AbortSignal): Promise<Error | null> {
  let leftOut: Error | null = null;
  const last = await sql<{ hour: number }>`select coalesce(max(hour), 0) as hour from device_hours`.execute(parts.db);
  let from = last.rows[0]?.hour ?? 0;
  const values = await valuesWithSamples(parts);
  for (;;) {
    const hour = await nextHour(parts, from);
    if (hour === null || hour >= before) return leftOut;
    for (const value of values) {
      await nextTurn();
      if (signal?.aborted) return leftOut;
      try {
        await sumUp(parts, value, hour);
      } catch (error) {
        // Else one value would end all of it, again and again; a database that is away would have everything left out.
        if (!isOfData(error)) throw error;
        leftOut ??= new Error(`Values of device ${value.deviceId} cannot be summed up`, { cause: error });
      }
    }
    from = hour + hourMs;
  }
}

/** What is read is wrong, not the database: class 22, data exceptions (PostgreSQL, appendix A). SQLite has none such. */
const isOfData = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^22...$/.test(error.code);

type Value = { deviceId: string; capability: string };

/** Hop by hop over the key of the table: to go through all samples would take as long as what is to be split. */
async function valuesWithSamples({ db }: Parts): Promise<Value[]> {
  const values: Value[] = [];
  for (const { id: deviceId } of await db.selectFrom('devices').select('id').orderBy('id').execute()) {
    for (let capability: string | undefined = ''; capability !== undefined;) {
      const next = await db
        .selectFrom('device_samples')
        .select('capability')
        .where('device_id', '=', deviceId)
        .where('capability', '>', capability)
        .orderBy('capability')
        .limit(1)
        .executeTakeFirst();
      capability = next?.capability;
      if (capability !== undefined) values.push({ deviceId, capability });
    }
    await nextTurn();
  }
  return values;
}

/** Of the first sample from then on. */
async function nextHour({ db }: Parts, from: number): Promise<number | null> {
  const query = sql<{ at: number | null }>`select min(at) as at from device_samples where at >= ${from}`;
  const at = (await query.execute(db)).rows[0]?.at ?? null;
  return at === null ? null : at - (at % hourMs);
}

async function sumUp({ db, kind }: Parts, { deviceId, capability }: Value, hour: number): Promise<void> {
  // A sample never goes beyond the second of its row's first, so it stands in the hour of its row.
  await sql`
    insert into device_hours (device_id, capability, hour, samples, total, lowest, highest)
    select ${deviceId}, ${capability}, cast(${hour} as bigint), count(*), sum(value), min(value), max(value)
    from ${samplesOf(kind, { deviceId, capability, fromMs: hour, toMs: hour + hourMs })}
    having count(*) > 0
    on conflict (device_id, capability, hour) do update
    set samples = excluded.samples, total = excluded.total, lowest = excluded.lowest, highest = excluded.highest
    where excluded.samples >= device_hours.samples`.execute(db);
}

/** Removes rows, some at a time, with a turn of the event loop between. Removing part of them is right at any time. */
export async function deleteRows(
  { db, kind }: Parts,
  table: 'device_samples' | 'device_hours' | 'device_events' | 'device_commands',
  where: RawBuilder<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  // Where a row lies: sqlite.org/rowidtable.html; PostgreSQL's manual, section 5.6.
  const place = kind === 'postgres' ? sql`ctid` : sql`rowid`;
  const rows = sql`select ${place} from ${sql.table(table)} where ${where} limit ${sql.lit(rowsAtOnce)}`;
  const statement = sql`delete from ${sql.table(table)} where ${place} in (${rows})`;
  for (let removed = rowsAtOnce; removed === rowsAtOnce && !signal?.aborted;) {
    await nextTurn();
    removed = Number((await statement.execute(db)).numAffectedRows ?? 0);
  }
}
