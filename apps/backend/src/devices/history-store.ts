import { sql } from 'kysely';
import type { Clock } from '@station/kit/clock';
import { eventsKeptMs } from '../core/device-events.ts';
import type { Store } from '../store/database.ts';
import { deleteRows, hourMs, samplesOf, type Stretch, sumUpHours } from './downsampling.ts';

/** A time interval in a device's history: its average, lowest and highest value. */
type HistoryPoint = { at: number; value: number; lowest: number; highest: number };

type HistoryQuery = Stretch;

export type HistoryStore = {
  /**
   * At most `maxPoints` points in order of time. They come from samples if those still cover the range; otherwise from hours, and from
   * samples after the last hour.
   */
  read(query: HistoryQuery): Promise<HistoryPoint[]>;
  /**
   * Aggregates the samples of finished hours and deletes expired rows, in small steps. It is idempotent; when the signal aborts, the next
   * run does the rest.
   * @throws (rejects) at the end, if some values could not be aggregated; immediately, if the database fails.
   */
  downsample(signal?: AbortSignal): Promise<void>;
};

const dayMs = 24 * hourMs;
export const samplesKeptMs = 7 * dayMs;
const hoursKeptMs = 2 * 365 * dayMs;
/** Kept to answer what happened to a command. The lasting record of a device is its events. */
export const commandsKeptMs = 7 * dayMs;
export const maxPoints = 600;

export function createHistoryStore({
  store: { db, kind },
  clock,
}: {
  store: Pick<Store, 'db' | 'kind'>;
  clock: Clock;
}): HistoryStore {
  const pointsOfSamples = async (query: HistoryQuery): Promise<HistoryPoint[]> => {
    const { fromMs, toMs } = query;
    const width = Math.max(1, Math.ceil((toMs - fromMs) / maxPoints));
    // Integers, so that the division truncates; SQLite would treat a parameter as a fraction.
    const { rows } = await sql<HistoryPoint>`
      select min(at) as at, avg(value) as value, min(value) as lowest, max(value) as highest
      from ${samplesOf(kind, query)}
      group by (at - cast(${fromMs} as bigint)) / ${sql.lit(width)} order by 1`.execute(db);
    return rows;
  };

  /** Hours up to the last aggregated one, samples after it. */
  const pointsOfHours = async (query: HistoryQuery): Promise<HistoryPoint[]> => {
    const { deviceId, capability, fromMs, toMs } = query;
    const ofValue = sql`device_id = ${deviceId} and capability = ${capability}`;
    const last = await sql<{ hour: number | null }>`
      select max(hour) as hour from device_hours where ${ofValue}`.execute(db);
    const summedUpTo = (last.rows[0]?.hour ?? -hourMs) + hourMs;
    const samples = samplesOf(kind, { ...query, fromMs: Math.max(fromMs, summedUpTo) });
    const width = Math.max(hourMs, Math.ceil((toMs - fromMs) / maxPoints / hourMs) * hourMs);
    const { rows } = await sql<HistoryPoint>`
      select min(hour) as at, sum(total) / sum(samples) as value, min(lowest) as lowest, max(highest) as highest
      from (
        select hour, samples, total, lowest, highest
        from device_hours where ${ofValue} and hour >= ${fromMs} and hour < ${toMs}
        union all
        select at, 1, value, value, value from ${samples}
      ) as parts
      group by (hour - cast(${fromMs} as bigint)) / ${sql.lit(width)} order by 1`.execute(db);
    return rows;
  };

  return {
    read: async (query) => {
      const samplesFrom = clock.now() - samplesKeptMs;
      if (query.fromMs >= samplesFrom) return pointsOfSamples(query);
      return pointsOfHours(query);
    },
    downsample: async (signal) => {
      const now = clock.now();
      const leftOut = await sumUpHours({ db, kind }, now - (now % hourMs), signal);
      // Samples that are not aggregated yet must stay.
      if (signal?.aborted) return;
      await deleteRows({ db, kind }, 'device_samples', sql`at < ${now - samplesKeptMs}`, signal);
      await deleteRows({ db, kind }, 'device_hours', sql`hour < ${now - hoursKeptMs}`, signal);
      await deleteRows({ db, kind }, 'device_events', sql`at < ${now - eventsKeptMs}`, signal);
      const oldCommands = sql`at < ${now - commandsKeptMs} and status <> 'pending'`;
      await deleteRows({ db, kind }, 'device_commands', oldCommands, signal);
      if (leftOut !== null) throw leftOut;
    },
  };
}
