import { sql } from 'kysely';
import type { Clock } from '@station/kit/clock';
import { ownValue } from '@station/protocol/own-value';
import { alwaysTrusted, type TrustedTime } from '../core/trusted-time.ts';
import { eventsKeptMs } from '../core/device-events.ts';
import type { Store } from '../store/database.ts';
import type { LoggedReports } from '../store/logged-reports.ts';
import { statusCapability, transitionValue } from './transition-fold.ts';
import { readState } from '../core/device-state.ts';
import { deleteRows } from './history-rows.ts';
import { isSummedUp, samplesOf, startOfHour, type Stretch, sumUpHours } from './downsampling.ts';
import {
  type Frame,
  frameOf,
  hourMs,
  type Span,
  type TransitionPoint,
  transitionPoints,
  visibleGaps,
} from './history-decide.ts';
import { readGaps, readTransitions, refuseTooMany } from './history-reads.ts';
import { deleteOldTransitions, summariseTransitions } from './transition-summaries.ts';

/** An interval in a device's history: average, lowest and highest value, and how many there were. */
export type NumberPoint = { at: number; value: number; lowest: number; highest: number; count: number };

/** `endMs`: end of the last interval, or now. */
export type History = { frame: Frame; endMs: number; gaps: Span[] } & (
  | { kind: 'number'; points: NumberPoint[] }
  | { kind: 'transitions'; points: TransitionPoint[] }
);

type HistoryQuery = Stretch & { resolutionMs?: number | undefined };

export type HistoryStore = {
  /** An interval that is over always has the same points, whenever and with whatever range it is read. */
  read(query: HistoryQuery): Promise<History>;
  /** Whether the history of a value is its transitions: the latest state tells, or what was recorded. */
  kindOf(deviceId: string, capability: string): Promise<History['kind']>;
  /** From then on all samples and transitions are kept; before that there may be only hours. */
  exactFromMs(): number;
  /**
   * Aggregates the samples of finished hours, summarises old transitions, and deletes expired rows, in small steps. It is idempotent; when
   * the signal aborts, the next run does the rest.
   * @throws (rejects) at the end, if some values could not be aggregated; immediately, if the database fails.
   */
  downsample(signal?: AbortSignal): Promise<void>;
};

const dayMs = 24 * hourMs;
export const samplesKeptMs = 7 * dayMs;
const hoursKeptMs = 2 * 365 * dayMs;
/** Kept to answer what happened to a command. The lasting record of a device is its events. */
export const commandsKeptMs = 7 * dayMs;

/** `logged`: what is not in the tables yet; unset: nothing. */
type ReadStore = Pick<Store, 'db' | 'kind'> & { logged?: Pick<LoggedReports, 'settle'> };
type Parts = { store: ReadStore; trustedTime?: TrustedTime; clock: Clock };

export function createHistoryStore({ store, trustedTime = alwaysTrusted, clock }: Parts): HistoryStore {
  const exactFromMs = (): number => {
    const from = clock.now() - samplesKeptMs;
    return from - (from % hourMs);
  };
  return {
    exactFromMs,
    kindOf: async (deviceId, capability) => {
      await store.logged?.settle();
      return kindOf(store, deviceId, capability);
    },
    read: async ({ resolutionMs: askedMs, ...query }) => {
      await store.logged?.settle();
      const nowMs = clock.now();
      const frame = frameOf({ ...query, askedMs, nowMs, exactFromMs: exactFromMs() });
      const endMs = Math.min(frame.toMs, nowMs);
      const stretch = { ...query, fromMs: frame.fromMs, toMs: frame.toMs };
      for (const capability of [statusCapability, query.capability])
        await refuseTooMany(store, { ...stretch, capability });
      const gaps = await readGaps(store, { ...stretch, toMs: endMs });
      const whole = { frame, endMs, gaps: visibleGaps(gaps, frame, endMs) };
      if ((await kindOf(store, query.deviceId, query.capability)) === 'transitions') {
        const points = transitionPoints(frame, await readTransitions(store, stretch), gaps, endMs);
        return { kind: 'transitions', ...whole, points };
      }
      const read = frame.resolutionMs < hourMs ? pointsOfSamples : pointsOfHours;
      return { kind: 'number', ...whole, points: await read(store, stretch, frame.resolutionMs) };
    },
    downsample: async (signal) => {
      await store.logged?.settle();
      const now = clock.now();
      // Samples whose times may still be corrected are in no hour.
      const until = startOfHour(Math.min(now, trustedTime.unsureSince() ?? now));
      const leftOut = await sumUpHours(store, until, signal);
      if (signal?.aborted || !trustedTime.areAgesTrue()) return;
      await summariseTransitions(store, { beforeMs: now - (now % hourMs), exactFromMs: exactFromMs() }, signal);
      if (signal?.aborted) return;
      await deleteRows(store, 'device_samples', isSummedUp(exactFromMs()), signal);
      await deleteRows(store, 'device_hours', sql`hour < ${now - hoursKeptMs}`, signal);
      await deleteOldTransitions(store, now - hoursKeptMs, signal);
      await deleteRows(store, 'station_runs', sql`alive_at < ${now - hoursKeptMs}`, signal);
      await deleteRows(store, 'device_events', sql`at < ${now - eventsKeptMs}`, signal);
      const oldCommands = sql`at < ${now - commandsKeptMs} and status <> 'pending'`;
      await deleteRows(store, 'device_commands', oldCommands, signal);
      if (leftOut !== null) throw leftOut;
    },
  };
}

async function kindOf({ db }: Parts['store'], deviceId: string, capability: string): Promise<History['kind']> {
  const device = await db.selectFrom('devices').select('state').where('id', '=', deviceId).executeTakeFirst();
  const value = ownValue(readState(device?.state ?? '{}'), capability);
  if (typeof value === 'number') return 'number';
  if (transitionValue(value) !== null) return 'transitions';
  const recorded = db.selectFrom('device_transitions').select('at').where('device_id', '=', deviceId);
  const row = await recorded.where('capability', '=', capability).limit(1).executeTakeFirst();
  return row === undefined ? 'number' : 'transitions';
}

async function pointsOfSamples(
  { db, kind }: Parts['store'],
  query: Stretch,
  resolutionMs: number,
): Promise<NumberPoint[]> {
  // A literal, so that the division truncates; SQLite would treat a parameter as a fraction.
  const interval = sql`at / ${sql.lit(resolutionMs)}`;
  const { rows } = await sql<NumberPoint>`
    select ${interval} * ${sql.lit(resolutionMs)} as at, avg(value) as value, min(value) as lowest, max(value) as highest,
      count(*) as count
    from ${samplesOf(kind, query)}
    group by ${interval} order by 1`.execute(db);
  return rows;
}

/** Hours up to the last aggregated one, samples after it. Both are averaged alike, so that a point stays as it is. */
async function pointsOfHours(
  { db, kind }: Parts['store'],
  query: Stretch,
  resolutionMs: number,
): Promise<NumberPoint[]> {
  const { deviceId, capability, fromMs, toMs } = query;
  const ofValue = sql`device_id = ${deviceId} and capability = ${capability}`;
  const last = await sql<{ hour: number | null }>`
    select max(hour) as hour from device_hours where ${ofValue}`.execute(db);
  const summedUpTo = (last.rows[0]?.hour ?? -hourMs) + hourMs;
  const samples = samplesOf(kind, { ...query, fromMs: Math.max(fromMs, summedUpTo) });
  const width = sql.lit(resolutionMs);
  const { rows } = await sql<NumberPoint>`
    select hour / ${width} * ${width} as at, sum(total) / sum(samples) as value, min(lowest) as lowest,
      max(highest) as highest, cast(sum(samples) as bigint) as count
    from (
      select hour, samples, total, lowest, highest
      from device_hours where ${ofValue} and hour >= ${fromMs} and hour < ${toMs}
      union all
      select at / ${sql.lit(hourMs)} * ${sql.lit(hourMs)}, count(*), sum(value), min(value), max(value)
      from ${samples} group by at / ${sql.lit(hourMs)}
      union all
      select at / ${sql.lit(hourMs)} * ${sql.lit(hourMs)}, samples, total, lowest, highest
      from device_hour_parts where ${ofValue} and at >= ${Math.max(fromMs, summedUpTo)} and at < ${toMs}
    ) as parts
    group by hour / ${width} order by 1`.execute(db);
  return rows;
}
