import type { Clock } from '@station/kit/clock';
import { alwaysTrusted, type TrustedTime } from '../core/trusted-time.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import type { PasskeysTable } from './people-tables.ts';
import { challengeLifetimeMs } from './passkey-challenges.ts';
import { keepPassword } from './sessions.ts';

export type PasskeyRow = PasskeysTable;

/** `added`, or why not: another request was first, or the account was closed or got another password. */
type AddResult = 'added' | 'known' | 'full' | 'refused';

export type PasskeyStore = {
  /** The oldest first. */
  list(userId: string): Promise<PasskeyRow[]>;
  find(credentialId: string, host: string): Promise<PasskeyRow | null>;
  /** @param passwordHash of the user when the challenge was made: it must still be the stored one. */
  add(row: PasskeyRow, proof: { passwordHash: string; challenge: string }): Promise<AddResult>;
  /**
   * Notes a log-in. @param counter as the device says it now.
   * @returns false when the challenge was answered before, or the key was used or removed meanwhile.
   */
  use(row: PasskeyRow, counter: number, challenge: string): Promise<boolean>;
  /** @returns the changed one; null when this user has no such passkey. */
  rename(userId: string, id: string, name: string): Promise<PasskeyRow | null>;
  /** @returns whether this user had it. */
  remove(userId: string, id: string): Promise<boolean>;
};

export const maxPasskeys = 20;

type Parts = { db: Database; clock: Clock; trustedTime?: TrustedTime };

export function createPasskeyStore(parts: Parts): PasskeyStore {
  const { db } = parts;
  const own = (userId: string, id: string) =>
    db.selectFrom('passkeys').selectAll().where('id', '=', id).where('user_id', '=', userId);
  return {
    list: (userId) => listOf(db, userId),
    find: async (credentialId, host) => {
      const found = db.selectFrom('passkeys').selectAll().where('credential_id', '=', credentialId);
      return (await found.where('rp_id', '=', host).executeTakeFirst()) ?? null;
    },
    add: (row, proof) => undoable<AddResult>((transaction) => add(parts, transaction, row, proof), db),
    use: (row, counter, challenge) => undoable((transaction) => use(parts, transaction, row, counter, challenge), db),
    rename: async (userId, id, name) => {
      await db.updateTable('passkeys').set({ name }).where('id', '=', id).where('user_id', '=', userId).execute();
      return (await own(userId, id).executeTakeFirst()) ?? null;
    },
    remove: async (userId, id) => {
      const removed = db.deleteFrom('passkeys').where('id', '=', id).where('user_id', '=', userId);
      return (await removed.executeTakeFirst()).numDeletedRows > 0n;
    },
  };
}

const listOf = (db: Database, userId: string): Promise<PasskeyRow[]> =>
  db.selectFrom('passkeys').selectAll().where('user_id', '=', userId).orderBy('created_at').orderBy('id').execute();

/** Rolls the transaction back, and carries the result out of it. */
class Undone<Result> extends Error {
  readonly result: Result;

  constructor(result: Result) {
    super();
    this.result = result;
  }
}

async function undoable<Result>(
  action: (transaction: DatabaseTransaction) => Promise<Result>,
  db: Database,
): Promise<Result> {
  try {
    return await db.transaction().execute(action);
  } catch (error) {
    if (error instanceof Undone) return error.result as Result;
    throw error;
  }
}

async function add(
  parts: Parts,
  transaction: DatabaseTransaction,
  row: PasskeyRow,
  { passwordHash, challenge }: { passwordHash: string; challenge: string },
): Promise<AddResult> {
  // First: a reset of the password comes before this transaction or after it, and requests of one user take turns.
  if (!(await keepPassword(transaction, row.user_id, passwordHash))) return 'refused';
  if (!(await spend(parts, transaction, challenge))) return 'refused';
  if ((await listOf(transaction, row.user_id)).length >= maxPasskeys) throw new Undone<AddResult>('full');
  const inserted = await transaction
    .insertInto('passkeys')
    .values(row)
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .executeTakeFirst();
  if (inserted.numInsertedOrUpdatedRows !== 1n) throw new Undone<AddResult>('known');
  return 'added';
}

async function use(
  parts: Parts,
  transaction: DatabaseTransaction,
  { id, counter: before }: PasskeyRow,
  counter: number,
  challenge: string,
): Promise<boolean> {
  if (!(await spend(parts, transaction, challenge))) return false;
  const updated = await transaction
    .updateTable('passkeys')
    .set({ counter, used_at: parts.clock.now() })
    .where('id', '=', id)
    .where('counter', '=', before)
    .executeTakeFirst();
  if (updated.numUpdatedRows !== 1n) throw new Undone(false);
  return true;
}

/** @returns false when it was answered before. Only genuine answers come here, so clients without a passkey write nothing. */
async function spend(
  { clock, trustedTime = alwaysTrusted }: Parts,
  transaction: DatabaseTransaction,
  challenge: string,
): Promise<boolean> {
  const now = clock.now();
  if (trustedTime.areAgesTrue()) {
    const over = now - 2 * challengeLifetimeMs;
    await transaction.deleteFrom('used_challenges').where('used_at', '<', over).execute();
  }
  const spent = await transaction
    .insertInto('used_challenges')
    .values({ challenge, used_at: now })
    .onConflict((conflict) => conflict.column('challenge').doNothing())
    .executeTakeFirst();
  return spent.numInsertedOrUpdatedRows === 1n;
}
