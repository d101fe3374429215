import { randomUUID } from 'node:crypto';
import { newestTime, pullWaits, shiftHistory, shiftTimes } from '../history/correct-times.ts';
import type { Store } from '../store/database.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import type { ClockPeriodsTable } from './system-tables.ts';
import type { KeptTime } from './station-time-decide.ts';

export type ClockPeriod = ClockPeriodsTable;

export type ClockStore = {
  /** The last time that was kept. */
  kept(): Promise<KeptTime | null>;
  keep(time: KeptTime): Promise<void>;
  /** The newest time in the database; null: it is empty. */
  newest(): Promise<number | null>;
  /** Oldest first. */
  periods(): Promise<ClockPeriod[]>;
  /** A period begins. Those that last end right before it, and it takes in those that began later. */
  begin(bootId: string, fromMs: number, time: KeptTime): Promise<ClockPeriod>;
  /**
   * The step of each period is known: in one transaction, everything but the history is corrected. A step below `smallestMs` corrects
   * nothing, and its period is gone. Waits that are not over move with the clock, whether there is a period or not.
   * @returns the periods that are left.
   */
  end(ends: readonly PeriodEnd[], smallestMs: number): Promise<ClockPeriod[]>;
  /** Corrects a part of the history of a period. @returns whether the rest is done, too. */
  correct(period: ClockPeriod): Promise<boolean>;
  /** Its history is corrected. */
  forget(periodId: string): Promise<void>;
};

/** `id` null: there is no period. `waitsFromMs`: waits that began since then move, too; null: none. */
type PeriodEnd = { id: string | null; toMs: number; stepMs: number; waitsFromMs: number | null };

export function createClockStore(store: Pick<Store, 'db' | 'kind'> & Partial<Pick<Store, 'logged'>>): ClockStore {
  const { db } = store;
  return {
    kept: async () => {
      const row = await db.selectFrom('clock_state').selectAll().executeTakeFirst();
      if (row === undefined) return null;
      return {
        bootId: row.boot_id,
        uptimeMs: row.uptime_ms,
        atMs: row.at,
        wallMs: row.wall_at,
        isTrusted: row.trusted === 1,
        followedMs: row.followed_ms,
        aheadFromMs: row.ahead_from,
        holdMs: row.hold_ms,
      };
    },
    keep: (time) => db.transaction().execute((transaction) => keep(transaction, time)),
    newest: () => newestTime(store),
    periods: () => readPeriods(db),
    begin: async (bootId, fromMs, time) => {
      await store.logged?.settle();
      return db.transaction().execute(async (transaction) => {
        const later = transaction.deleteFrom('clock_periods').where('step_ms', 'is', null);
        await later.where('from_at', '>=', fromMs).execute();
        const before = transaction
          .updateTable('clock_periods')
          .set({ to_at: fromMs - 1 })
          .where('step_ms', 'is', null);
        await before.where((eb) => eb.or([eb('to_at', 'is', null), eb('to_at', '>=', fromMs)])).execute();
        await keep(transaction, time);
        const period = { id: randomUUID(), boot_id: bootId, from_at: fromMs };
        const row = { ...period, to_at: null, step_ms: null, rest_at: null };
        await transaction.insertInto('clock_periods').values(row).execute();
        return row;
      });
    },
    end: async (ends, smallestMs) => {
      await store.logged?.settle();
      return db.transaction().execute(async (transaction) => {
        for (const end of ends) await endPeriod(transaction, end, smallestMs);
        return readPeriods(transaction);
      });
    },
    correct: async ({ id, from_at: fromMs, to_at: toMs, step_ms: stepMs }) => {
      const period = db.selectFrom('clock_periods').select('rest_at').where('id', '=', id);
      const restMs = (await period.executeTakeFirst())?.rest_at ?? null;
      if (toMs === null || stepMs === null || restMs === null) return true;
      const left = await shiftHistory(store, { fromMs, toMs, stepMs, restMs }, async (transaction, rest) => {
        await transaction.updateTable('clock_periods').set({ rest_at: rest }).where('id', '=', id).execute();
      });
      return left === null;
    },
    forget: async (id) => {
      await db.deleteFrom('clock_periods').where('id', '=', id).execute();
    },
  };
}

const readPeriods = (db: Database): Promise<ClockPeriod[]> =>
  db.selectFrom('clock_periods').selectAll().orderBy('from_at').orderBy('id').execute();

async function keep(transaction: DatabaseTransaction, time: KeptTime): Promise<void> {
  const values = {
    boot_id: time.bootId,
    uptime_ms: time.uptimeMs,
    at: time.atMs,
    wall_at: time.wallMs,
    trusted: time.isTrusted ? 1 : 0,
    followed_ms: time.followedMs,
    ahead_from: time.aheadFromMs,
    hold_ms: time.holdMs,
  };
  await transaction
    .insertInto('clock_state')
    .values({ id: 'clock', ...values })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
    .execute();
}

async function endPeriod(
  transaction: DatabaseTransaction,
  { id, toMs, stepMs, waitsFromMs }: PeriodEnd,
  smallestMs: number,
): Promise<void> {
  const ofPeriod = transaction.selectFrom('clock_periods').selectAll().where('id', '=', id);
  const period = id === null ? undefined : await ofPeriod.where('step_ms', 'is', null).executeTakeFirst();
  if (id !== null && period === undefined) return;
  if (Math.abs(stepMs) < smallestMs) {
    await transaction.deleteFrom('clock_periods').where('id', '=', id).execute();
    return;
  }
  const fromMs = period?.from_at ?? toMs + 1;
  await shiftTimes(transaction, { fromMs, toMs, stepMs, waitsFromMs: waitsFromMs ?? fromMs });
  if (waitsFromMs !== null && stepMs < 0) await pullWaits(transaction, toMs + stepMs);
  if (period === undefined) return;
  await transaction
    .updateTable('clock_periods')
    .set({ to_at: toMs, step_ms: stepMs, rest_at: stepMs > 0 ? toMs : period.from_at })
    .where('id', '=', period.id)
    .execute();
}
