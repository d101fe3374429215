import { hash, randomUUID } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { rpcErrors } from '@station/protocol/cloud-rpc';
import type { Database } from '../store/schema.ts';
import { type CallId, RpcError } from './rpc-server.ts';

export type RememberedCommands = {
  /**
   * Carries out what was not carried out under this key before, and answers the rest from memory. What is refused, by throwing, had no effect
   * and is not remembered; but for outcomeUnknown.
   * @throws RpcError outcomeUnknown when nobody knows the outcome of the last time.
   */
  once<T>(key: CommandKey | null, action: () => Promise<T>): Promise<T>;
};

export type CommandKey = { text: string; lifetimeMs: number };

/** A repeated command has no second effect for so long. */
const rememberedMs = 24 * 60 * 60 * 1000;
/** A cloud that numbers its calls anew on each connection will soon use a number again. */
const shortIdRememberedMs = 2 * 60 * 1000;
const shortIdLength = 8;

/**
 * What makes two commands the same one: the key that the cloud gives, or else the id of the call together with what it asks for.
 * Null when it gave neither.
 */
export function commandKey(idempotencyKey: string | undefined, id: CallId, content: unknown): CommandKey | null {
  if (idempotencyKey !== undefined) return { text: `key:${idempotencyKey}`, lifetimeMs: rememberedMs };
  if (id === undefined || id === null) return null;
  const isLong = typeof id === 'string' && id.length >= shortIdLength;
  const digest = hash('sha256', JSON.stringify(content), 'base64url');
  const name = typeof id === 'string' ? hash('sha256', id, 'base64url') : String(id);
  return { text: `id:${name}:${digest}`, lifetimeMs: isLong ? rememberedMs : shortIdRememberedMs };
}

/**
 * The table `cloud_commands`: a key is on disk before its command goes out, its outcome after. What this run of the backend wrote ages by the
 * clock that only goes forward: a clock on the wall that is set right would have it forgotten at once. What earlier ones wrote has the wall only.
 */
export function createRememberedCommands(options: {
  db: Database;
  /** Something could not be written down. */
  onFault(error: unknown): void;
  clock: Clock;
}): RememberedCommands {
  const { db, onFault, clock } = options;
  const running = new Map<string, Promise<unknown>>();
  const life = randomUUID();

  const claimKey = async ({ text, lifetimeMs }: CommandKey): Promise<boolean> => {
    const at = clock.now();
    const monotonicAt = Math.round(clock.monotonic());
    return db.transaction().execute(async (transaction) => {
      const old = (ageMs: number) =>
        transaction
          .deleteFrom('cloud_commands')
          .where(({ or, and, eb }) =>
            or([
              and([eb('life', '=', life), eb('monotonic_at', '<', monotonicAt - ageMs)]),
              and([eb('life', '!=', life), eb('at', '<', at - ageMs)]),
            ]),
          );
      await old(lifetimeMs).where('key', '=', text).execute();
      await old(rememberedMs).execute();
      const inserted = await transaction
        .insertInto('cloud_commands')
        .values({ key: text, outcome: null, at, life, monotonic_at: monotonicAt })
        .onConflict((conflict) => conflict.column('key').doNothing())
        .executeTakeFirst();
      return inserted.numInsertedOrUpdatedRows === 1n;
    });
  };
  const recall = async (text: string): Promise<unknown> => {
    const row = await db.selectFrom('cloud_commands').select('outcome').where('key', '=', text).executeTakeFirst();
    if (row?.outcome == null) {
      throw new RpcError(
        rpcErrors.outcomeUnknown,
        'The station did not keep what came of it; it may have had its effect.',
      );
    }
    return JSON.parse(row.outcome) as unknown;
  };
  const run = async (key: CommandKey, action: () => Promise<unknown>): Promise<unknown> => {
    const { text } = key;
    if (!(await claimKey(key))) return recall(text);
    let outcome: unknown;
    try {
      outcome = await action();
    } catch (error) {
      if (error instanceof RpcError && error.code === rpcErrors.outcomeUnknown) throw error;
      // A key that stays only means that nobody knows any more that nothing was done.
      await db.deleteFrom('cloud_commands').where('key', '=', text).execute().catch(onFault);
      throw error;
    }
    const written = db.updateTable('cloud_commands').set({ outcome: JSON.stringify(outcome) });
    // The key stays whatever happens: it was done.
    await written.where('key', '=', text).execute().catch(onFault);
    return outcome;
  };

  return {
    once: async <T>(key: CommandKey | null, action: () => Promise<T>): Promise<T> => {
      if (key === null) return action();
      const { text } = key;
      const already = running.get(text);
      if (already !== undefined) return already as Promise<T>;
      const started = run(key, action).finally(() => running.delete(text));
      running.set(text, started);
      return started as Promise<T>;
    },
  };
}
