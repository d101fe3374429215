import { sql, type RawBuilder } from 'kysely';
import type { Clock } from '@station/kit/clock';
import type { Store } from '../store/database.ts';
import { secondMs } from './device-samples.ts';

/** A stretch of time in a device's history: its average, lowest and highest value. */
export type HistoryPoint = { at: number; value: number; lowest: number; highest: number };

export type HistoryQuery = { deviceId: string; capability: string; fromMs: number; toMs: number };

export type HistoryStore = {
  /** At most `maxPoints` points in order of time: from the samples while they are kept, from the hours beyond that. */
  read(query: HistoryQuery): Promise<HistoryPoint[]>;
  /** Makes hours of samples whose hour is over, and removes what is older than it is kept for. Repeating it changes nothing. */
  thinOut(): Promise<void>;
};

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
export const samplesKeptMs = 7 * dayMs;
export const hoursKeptMs = 2 * 365 * dayMs;
export const eventsKeptMs = 90 * dayMs;
/** Only so that what became of one can be told; the record of a device are its events. */
export const commandsKeptMs = 7 * dayMs;
export const maxPoints = 600;

export function createHistoryStore({
  store: { db, kind },
  clock,
}: {
  store: Pick<Store, 'db' | 'kind'>;
  clock: Clock;
}): HistoryStore {
  const pointsOfSamples = async ({ deviceId, capability, fromMs, toMs }: HistoryQuery): Promise<HistoryPoint[]> => {
    const width = Math.max(1, Math.ceil((toMs - fromMs) / maxPoints));
    // Whole numbers, so that the division cuts; SQLite would take a parameter for a fraction.
    const { rows } = await sql<HistoryPoint>`
      select min(at) as at, avg(value) as value, min(value) as lowest, max(value) as highest
      from ${samplesOf(kind, sql`device_id = ${deviceId} and capability = ${capability}`, fromMs, toMs)}
      group by (at - cast(${fromMs} as bigint)) / ${sql.lit(width)} order by 1`.execute(db);
    return rows;
  };

  const pointsOfHours = async ({ deviceId, capability, fromMs, toMs }: HistoryQuery): Promise<HistoryPoint[]> => {
    const width = Math.max(hourMs, Math.ceil((toMs - fromMs) / maxPoints / hourMs) * hourMs);
    const { rows } = await sql<HistoryPoint>`
      select min(hour) as at, sum(total) / sum(samples) as value, min(lowest) as lowest, max(highest) as highest
      from device_hours
      where device_id = ${deviceId} and capability = ${capability} and hour >= ${fromMs} and hour < ${toMs}
      group by (hour - cast(${fromMs} as bigint)) / ${sql.lit(width)} order by 1`.execute(db);
    return rows;
  };

  return {
    read: async (query) => {
      const samplesFrom = clock.now() - samplesKeptMs;
      if (query.fromMs >= samplesFrom) return pointsOfSamples(query);
      return pointsOfHours(query);
    },
    thinOut: async () => {
      const now = clock.now();
      const thisHour = now - (now % hourMs);
      await sumUpHours({ db, kind }, thisHour);
      await db
        .deleteFrom('device_samples')
        .where('at', '<', now - samplesKeptMs)
        .execute();
      await db
        .deleteFrom('device_hours')
        .where('hour', '<', now - hoursKeptMs)
        .execute();
      await db
        .deleteFrom('device_events')
        .where('at', '<', now - eventsKeptMs)
        .execute();
      await db
        .deleteFrom('device_commands')
        .where('at', '<', now - commandsKeptMs)
        .where('status', '!=', 'pending')
        .execute();
    },
  };
}

/** Samples one by one, `given(device_id, capability, at, value)`, from rows that take those of a second along (`SampleRow`). */
function samplesOf(kind: Store['kind'], where: RawBuilder<unknown>, fromMs: number, toMs: number): RawBuilder<unknown> {
  const later =
    kind === 'postgres'
      ? sql`json_array_elements(device_samples.later::json) as later_one(value)`
      : sql`json_each(device_samples.later) as later_one`;
  const after = sql`cast(later_one.value ->> 0 as bigint)`;
  // A row may begin before what it takes along is asked for, or after it where the clock was set.
  const rows = sql`${where} and at > ${fromMs - secondMs} and at < ${toMs + secondMs}`;
  return sql`(
    select device_id, capability, at, value from device_samples
    where ${where} and at >= ${fromMs} and at < ${toMs}
    union all
    select device_id, capability, at + ${after}, cast(later_one.value ->> 1 as double precision)
    from device_samples, ${later}
    where ${rows} and later is not null and at + ${after} >= ${fromMs} and at + ${after} < ${toMs}
  ) as given`;
}

/** From the last hour that has been summed up on: times are those of receipt, so nothing is added to an hour before. */
async function sumUpHours({ db, kind }: Pick<Store, 'db' | 'kind'>, before: number): Promise<void> {
  const { rows } = await sql<{ hour: number }>`select coalesce(max(hour), 0) as hour from device_hours`.execute(db);
  const from = rows[0]?.hour ?? 0;
  await sql`
    insert into device_hours (device_id, capability, hour, samples, total, lowest, highest)
    select device_id, capability, at - at % ${sql.lit(hourMs)}, count(*), sum(value), min(value), max(value)
    from ${samplesOf(kind, sql`true`, from, before)}
    group by 1, 2, 3
    on conflict (device_id, capability, hour) do update
    set samples = excluded.samples, total = excluded.total, lowest = excluded.lowest, highest = excluded.highest
    where excluded.samples >= device_hours.samples`.execute(db);
}
