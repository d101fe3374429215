import { sql } from 'kysely';
import type { DatabaseTransaction } from '../store/schema.ts';
import { unheardReplicas } from './locks.ts';

/**
 * Whether the transaction may write what only the leader of this term decides. True holds until the transaction ends: the next leader begins its
 * term with a write to the same row, and waits for it.
 */
export async function isStillLeader(transaction: DatabaseTransaction, epoch: number | null): Promise<boolean> {
  if (epoch === null) return false;
  const { rows } = await sql<{ epoch: number }>`
    select epoch from leadership where id = 'leader' for share`.execute(transaction);
  return Number(rows[0]?.epoch) === epoch;
}

/** Whether some replica's broker session waits unheard: a device that seems silent may have spoken there. */
export async function isAnyoneUnheard(
  transaction: DatabaseTransaction,
  takenOver: readonly string[],
): Promise<boolean> {
  const { rows } = await sql.raw<{ id: string }>(unheardReplicas).execute(transaction);
  return rows.some(({ id }) => !takenOver.includes(id));
}
