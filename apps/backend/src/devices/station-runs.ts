import { randomUUIDv7 } from 'node:crypto';
import { sql } from 'kysely';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { Database } from '../store/schema.ts';

/** Each is a commit, about 40 kB of wear of the card. Where devices report, their last message says it better. */
const aliveEveryMs = 600_000;
/** A shorter pause continues the previous run: a backend that restarts again and again does not fill the table. */
const shortestPauseMs = 5_000;
/** The wall clock was set when it and the monotonic clock differ by more. */
const clockStepMs = 5_000;
/** No release is older: such a time comes from a board without a clock. */
const earliestMs = Date.UTC(2026, 0, 1);

/**
 * Records when this backend runs; the history shows other times as gaps. After a power cut the run ends with the last message of a device,
 * or the time that was recorded last, at most ten minutes before. When the clock is set, the start moves with it.
 */
export async function startStationRuns(options: {
  db: Database;
  clock: Clock;
  logger: BackendLogger;
}): Promise<AsyncDisposable> {
  const { db, clock, logger } = options;
  const startedMonotonic = clock.monotonic();
  let current: { id: string; startedAt: number } | null = null;
  const recordAlive = async (): Promise<void> => {
    const now = clock.now();
    if (now < earliestMs) return;
    const startedAt = now - (clock.monotonic() - startedMonotonic);
    current ??= { id: await begin(db, startedAt), startedAt };
    const { id } = current;
    const stepMs = Math.round(startedAt - current.startedAt);
    if (Math.abs(stepMs) > clockStepMs) {
      current.startedAt = startedAt;
      await sql`update station_runs set started_at = started_at + cast(${stepMs} as bigint) where id = ${id}`.execute(
        db,
      );
    }
    await db.updateTable('station_runs').set({ alive_at: now }).where('id', '=', id).execute();
  };
  const record = (): Promise<void> => recordAlive().catch((error: unknown) => logger.failed('station runs', error));
  // A station whose disk is full must start; the next minute tries again.
  await record();
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await clock.sleep(aliveEveryMs, stopping.signal).catch(() => undefined);
      if (!stopping.signal.aborted) await record();
    }
  };
  const running = run();
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
      await record();
    },
  };
}

/** @returns id of the run that begins or continues at `now`. */
async function begin(db: Database, started: number): Promise<string> {
  const now = Math.round(started);
  return db.transaction().execute(async (transaction) => {
    const last = await transaction
      .selectFrom('station_runs')
      .selectAll()
      .orderBy('alive_at', 'desc')
      .executeTakeFirst();
    const seen = await transaction
      .selectFrom('devices')
      .select(({ fn }) => fn.max('last_seen_at').as('at'))
      .executeTakeFirst();
    if (last !== undefined) {
      const alive = Math.max(last.alive_at, Math.min(seen?.at ?? 0, now));
      const isContinued = alive <= now && now - alive < shortestPauseMs;
      const set = { alive_at: isContinued ? now : alive };
      await transaction.updateTable('station_runs').set(set).where('id', '=', last.id).execute();
      if (isContinued) return last.id;
    }
    const id = randomUUIDv7();
    await transaction.insertInto('station_runs').values({ id, started_at: now, alive_at: now }).execute();
    return id;
  });
}
