import { nextTurn } from '@station/kit/timers';
import { type RawBuilder, sql } from 'kysely';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { alwaysLeader, type Leadership } from '../core/leadership.ts';
import type { Store } from '../store/database.ts';
import { largestSample, secondMs } from './device-samples.ts';
import { countHour } from './device-storage.ts';
import { hourPartsBefore, nextHourPart, removeHourPart, valuesWithParts } from './hour-parts.ts';
import { hourMs } from './history-decide.ts';

type Parts = Pick<Store, 'db' | 'kind'>;

/**
 * Aggregates the samples of finished hours, one value of one device and one hour at a time, because a SQLite statement blocks the process.
 * It yields to the event loop between two statements.
 *
 * It finishes one hour before the next. After an interruption it continues at the last stored hour and repeats it, because that hour may be
 * incomplete. Times are times of receipt, so no sample arrives for an earlier hour.
 * @param before end of the range, milliseconds since the epoch; the start of an hour.
 * @param again samples were moved to times from here on: hours that are already summed up are summed up again.
 * @returns the first error of values that could not be aggregated; null: all were.
 * @throws (rejects) when the database fails.
 */
export async function sumUpHours(
  parts: Parts,
  before: number,
  signal?: AbortSignal,
  again = Infinity,
): Promise<Error | null> {
  let leftOut: Error | null = null;
  const last = await sql<{ hour: number }>`select coalesce(max(hour), 0) as hour from device_hours`.execute(parts.db);
  let from = Math.min(last.rows[0]?.hour ?? 0, startOfHour(again));
  const add = async (value: Value, hour: number): Promise<boolean> => {
    await nextTurn();
    if (signal?.aborted) return false;
    try {
      await sumUp(parts, value, hour, before);
    } catch (error) {
      // A bad value must not stop the run every time. A failing database must stop it: otherwise all values would be left out.
      if (!isOfData(error)) throw error;
      leftOut ??= new Error(`Values of device ${value.deviceId} cannot be summed up`, { cause: error });
    }
    return true;
  };
  for (const { at, ...value } of await hourPartsBefore(parts, Math.min(from, before))) {
    if (!(await add(value, startOfHour(at)))) return leftOut;
  }
  const values = await valuesWithSamples(parts);
  for (;;) {
    const hour = await nextHour(parts, from);
    if (hour === null || hour >= before) return leftOut;
    for (const value of values) if (!(await add(value, hour))) return leftOut;
    from = hour + hourMs;
  }
}

/** Also of an hour before 1970. */
export const startOfHour = (at: number): number => Math.floor(at / hourMs) * hourMs;

/** The data is wrong, not the database: class 22, data exceptions (PostgreSQL, appendix A). SQLite has no such errors. */
const isOfData = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^22...$/.test(error.code);

type Value = { deviceId: string; capability: string };

/** Skips from key to key: a scan of all samples would block for as long as the work that is split here. */
async function valuesWithSamples({ db }: Parts): Promise<Value[]> {
  const keyOf = ({ deviceId, capability }: Value): string => JSON.stringify([deviceId, capability]);
  const values = new Map((await valuesWithParts({ db })).map((value) => [keyOf(value), value]));
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
      if (capability !== undefined) values.set(keyOf({ deviceId, capability }), { deviceId, capability });
    }
    await nextTurn();
  }
  return [...values.values()];
}

/** Hour of the first sample at or after `from`, also of one that was deleted before it was summed up. */
async function nextHour({ db }: Parts, from: number): Promise<number | null> {
  const query = sql<{ at: number | null }>`select min(at) as at from device_samples where at >= ${from}`;
  const times = [(await query.execute(db)).rows[0]?.at ?? null, await nextHourPart({ db }, from)];
  const at = Math.min(...times.filter((time) => time !== null));
  return Number.isFinite(at) ? startOfHour(at) : null;
}

/** @param before as in {@link sumUpHours}: the last hour before it is summed up once more by the next run. */
async function sumUp(
  { db, kind }: Parts,
  { deviceId, capability }: Value,
  hour: number,
  before: number,
): Promise<void> {
  const stretch = { deviceId, capability, fromMs: hour, toMs: hour + hourMs };
  await db.transaction().execute(async (transaction) => {
    const stored = transaction.selectFrom('device_hours').select('hour').where('device_id', '=', deviceId);
    const known = await stored.where('capability', '=', capability).where('hour', '=', hour).executeTakeFirst();
    // All samples of a row lie in one second, so they belong to the hour of the row.
    const { rows } = await sql`
      insert into device_hours (device_id, capability, hour, samples, total, lowest, highest)
      select ${deviceId}, ${capability}, cast(${hour} as bigint), cast(sum(samples) as bigint), sum(total), min(lowest), max(highest)
      from (
        select count(*) as samples, sum(value) as total, min(value) as lowest, max(value) as highest
        from ${samplesOf(kind, stretch)}
        union all
        select samples, total, lowest, highest from device_hour_parts
        where device_id = ${deviceId} and capability = ${capability} and at >= ${hour} and at < ${hour + hourMs}
      ) as summed
      having sum(samples) > 0
      on conflict (device_id, capability, hour) do update
      set samples = excluded.samples, total = excluded.total, lowest = excluded.lowest, highest = excluded.highest
      where excluded.samples >= device_hours.samples returning hour`.execute(transaction);
    if (known === undefined && rows.length > 0) await countHour(transaction, kind, { deviceId, capability });
    if (hour + hourMs < before) await removeHourPart(transaction, stretch);
  });
}

/**
 * Samples before that time whose hour is summed up: no others are ever deleted, whatever the clock says. Values too large to add up are in no
 * hour.
 */
export const isSummedUp = (
  before: number,
): RawBuilder<unknown> => sql`at < ${before} and (abs(value) > ${largestSample} or exists (
  select 1 from device_hours
  where device_hours.device_id = device_samples.device_id and device_hours.capability = device_samples.capability
    and device_hours.hour = device_samples.at - device_samples.at % ${sql.lit(hourMs)}))`;

/** One value of one device in a time range, milliseconds since the epoch; `toMs` is exclusive. */
export type Stretch = { deviceId: string; capability: string; fromMs: number; toMs: number };

/**
 * Single samples, `given(at, value)`, from rows that hold all samples of a second (`SampleRow`). It leaves out values too large to add up
 * and, on SQLite, unreadable parts of damaged rows. PostgreSQL fails on those (data exceptions, its manual's appendix A).
 */
export function samplesOf(kind: Store['kind'], stretch: Stretch): RawBuilder<unknown> {
  const { deviceId, capability, fromMs, toMs } = stretch;
  const later =
    kind === 'postgres'
      ? sql`json_array_elements(device_samples.later::json) as later_one(value)`
      : sql`json_each(case when json_valid(device_samples.later) then device_samples.later end) as later_one`;
  const after = sql`cast(later_one.value ->> 0 as bigint)`;
  const laterValue = sql`cast(later_one.value ->> 1 as double precision)`;
  const where = sql`device_id = ${deviceId} and capability = ${capability}`;
  // A row may start before the range and still hold samples in it; or after it, when the clock was set back.
  const rows = sql`${where} and at > ${fromMs - secondMs} and at < ${toMs + secondMs}`;
  return sql`(
    select at, value from device_samples
    where ${where} and at >= ${fromMs} and at < ${toMs} and abs(value) <= ${largestSample}
    union all
    select at + ${after}, ${laterValue}
    from device_samples, ${later}
    where ${rows} and later is not null and at + ${after} >= ${fromMs} and at + ${after} < ${toMs}
      and abs(${laterValue}) <= ${largestSample}
  ) as given`;
}

const everyMs = 60 * 60 * 1000;
/** A delay, so that it does not slow down the start. */
const firstAfterMs = 5 * 60 * 1000;

/** Downsamples the history once an hour until disposed. A failure is logged; the next hour tries again. */
export function startHousekeeping(dependencies: {
  history: { downsample(signal: AbortSignal): Promise<void> };
  /** Further clean-up work of the same hour. */
  also?: readonly (() => Promise<void>)[];
  /** Of several backends only the leader does it; two at the same time would be harmless. */
  leadership?: Leadership;
  clock: Clock;
  logger: BackendLogger;
}): AsyncDisposable {
  const { history, also = [], leadership = alwaysLeader, clock, logger } = dependencies;
  const stopping = new AbortController();
  const sleep = (ms: number): Promise<void> => clock.sleep(ms, stopping.signal).catch(() => undefined);
  const run = async (): Promise<void> => {
    await sleep(firstAfterMs);
    while (!stopping.signal.aborted) {
      for (const downsample of leadership.isLeader() ? [history.downsample, ...also] : []) {
        await downsample(stopping.signal).catch((error: unknown) => {
          logger.failed('downsampling the history', error);
        });
      }
      await sleep(everyMs);
    }
  };
  const running = run();
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}
