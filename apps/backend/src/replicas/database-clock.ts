import { sql } from 'kysely';
import type { Clock } from '@station/kit/clock';
import type { Database } from '../store/schema.ts';

const measureEveryMs = 60_000;
/** A smaller difference is of the measuring, not of the clocks. */
const toleranceMs = 20;

export type DatabaseClock = AsyncDisposable & { clock: Clock };

/**
 * The time of day of the database, so that times which different replicas wrote can be compared. Measured at the start and once a minute;
 * in between the machine's own clock goes on.
 * @throws (rejects) when the database does not answer.
 */
export async function startDatabaseClock(db: Database, base: Clock): Promise<DatabaseClock> {
  let offset = await measureOffset(db, base);
  const stopping = new AbortController();
  const measuring = (async () => {
    while (!stopping.signal.aborted) {
      await base.sleep(measureEveryMs, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) return;
      // A database that is away says nothing about the time.
      const measured = await measureOffset(db, base).catch(() => offset);
      if (Math.abs(measured - offset) > toleranceMs) offset = measured;
    }
  })();
  return {
    clock: { ...base, now: () => Math.round(base.now() + offset) },
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await measuring;
    },
  };
}

/** The quickest of three answers tells best. */
async function measureOffset(db: Database, base: Clock): Promise<number> {
  let best = { tookMs: Infinity, offset: 0 };
  for (let attempt = 0; attempt < 3; attempt++) {
    const before = base.monotonic();
    const query = sql<{ now: string | number }>`select extract(epoch from clock_timestamp()) * 1000 as now`;
    const { rows } = await query.execute(db);
    const tookMs = base.monotonic() - before;
    if (tookMs < best.tookMs) best = { tookMs, offset: Number(rows[0]?.now) + tookMs / 2 - base.now() };
  }
  return best.offset;
}
