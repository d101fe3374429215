import { randomUUID } from 'node:crypto';
import { newestTime, pullWaits, shiftHistory, shiftTimes } from '../history/correct-times.ts';
import type { Store } from '../store/database.ts';
import type { ClockPeriodsTable, Database, DatabaseTransaction } from '../store/schema.ts';

export type ClockPeriod = ClockPeriodsTable;

/** The stored time: of which boot, by which clock. All in milliseconds. */
type StoredTime = { bootId: string; uptimeMs: number; atMs: number; wallMs: number; isTrusted: boolean };

export type ClockStore = {
  /** The last time that was kept. */
  kept(): Promise<StoredTime | null>;
  keep(time: StoredTime): Promise<void>;
  /** The newest time in the database; null: it is empty. */
  newest(): Promise<number | null>;
  /** Oldest first. */
  periods(): Promise<ClockPeriod[]>;
  /** A period begins, and all others end right before it. */
  begin(bootId: string, fromMs: number, time: StoredTime): Promise<ClockPeriod>;
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

export function createClockStore(store: Pick<Store, 'db' | 'kind'>): ClockStore {
  const { db } = store;
  return {
    kept: async () => {
      const row = await db.selectFrom('clock_state').selectAll().executeTakeFirst();
      if (row === undefined) return null;
      const { boot_id: bootId, uptime_ms: uptimeMs, at: atMs, wall_at: wallMs, trusted } = row;
      return { bootId, uptimeMs, atMs, wallMs, isTrusted: trusted === 1 };
    },
    keep: (time) => db.transaction().execute((transaction) => keep(transaction, time)),
    newest: () => newestTime(store),
    periods: () => readPeriods(db),
    begin: (bootId, fromMs, time) =>
      db.transaction().execute(async (transaction) => {
        const before = transaction.updateTable('clock_periods').set({ to_at: fromMs - 1 });
        await before.where('to_at', 'is', null).execute();
        await keep(transaction, time);
        const period = { id: randomUUID(), boot_id: bootId, from_at: fromMs };
        const row = { ...period, to_at: null, step_ms: null, rest_at: null };
        await transaction.insertInto('clock_periods').values(row).execute();
        return row;
      }),
    end: (ends, smallestMs) =>
      db.transaction().execute(async (transaction) => {
        for (const end of ends) await endPeriod(transaction, end, smallestMs);
        return readPeriods(transaction);
      }),
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

async function keep(transaction: DatabaseTransaction, time: StoredTime): Promise<void> {
  const { bootId: boot_id, uptimeMs: uptime_ms, atMs: at, wallMs: wall_at, isTrusted } = time;
  const values = { boot_id, uptime_ms, at, wall_at, trusted: isTrusted ? 1 : 0 };
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
