import type { Database } from '../store/schema.ts';

/** The row of `settings` with the history that there was when the disk became nearly full. A restart must not begin anew. */
const shortageKey = 'history.shortage';

/**
 * Begins to delete history for a nearly full disk, or continues it.
 * @param historyBytes what the history takes now. @param now milliseconds since the epoch.
 * @returns what the history took when it began.
 */
export async function beginShortage({ db }: { db: Database }, historyBytes: number, now: number): Promise<number> {
  const row = { key: shortageKey, value: String(historyBytes), updated_at: now };
  const begun = await db
    .insertInto('settings')
    .values(row)
    .onConflict((conflict) => conflict.column('key').doNothing())
    .returning('value')
    .executeTakeFirst();
  if (begun !== undefined) return historyBytes;
  const known = await db.selectFrom('settings').select('value').where('key', '=', shortageKey).executeTakeFirst();
  return Number(known?.value ?? historyBytes);
}

/** There is space again. */
export async function endShortage({ db }: { db: Database }): Promise<void> {
  const known = await db.selectFrom('settings').select('key').where('key', '=', shortageKey).executeTakeFirst();
  if (known !== undefined) await db.deleteFrom('settings').where('key', '=', shortageKey).execute();
}
