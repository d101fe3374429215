import { hash, randomUUID } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { rpcErrors } from '@station/protocol/cloud-rpc';
import { commandExpiryMs } from '../core/commands.ts';
import { alwaysTrusted, type TrustedTime } from '../core/trusted-time.ts';
import type { Database } from '../store/schema.ts';
import { type CallId, RpcError } from './rpc-server.ts';

export type RememberedCommands = {
  /**
   * Runs the command unless this key ran before; then it returns the stored outcome. A command that throws had no effect and is not stored,
   * except for outcomeUnknown.
   * @param onRepeat called when the outcome is of an earlier run.
   * @throws RpcError outcomeUnknown when the outcome of the previous run is unknown.
   */
  once<T>(key: CommandKey | null, action: () => Promise<T>, onRepeat?: () => void): Promise<T>;
};

export type CommandKey = { text: string; lifetimeMs: number };

/** How long a repeated command has no second effect. */
const rememberedMs = 24 * 60 * 60 * 1000;

/**
 * The identity of a command: the key that the cloud sent, or else the id of the call with its request, on its connection and within the
 * deadline of the command (contracts, section 12). Null when it sent neither.
 */
export function commandKey(
  idempotencyKey: string | undefined,
  id: CallId,
  content: unknown,
  connectionId: string,
): CommandKey | null {
  if (idempotencyKey !== undefined) return { text: `key:${idempotencyKey}`, lifetimeMs: rememberedMs };
  if (id === undefined || id === null) return null;
  // A number beyond 2^53 may have been another one: it names nothing. The peer passes such ids on as text.
  const isExact = typeof id === 'string' || Math.abs(id) <= Number.MAX_SAFE_INTEGER;
  const name = isExact ? id : randomUUID();
  const digest = hash('sha256', JSON.stringify([connectionId, name, content]), 'base64url');
  return { text: `id:${digest}`, lifetimeMs: commandExpiryMs };
}

type RememberedParts = {
  db: Database;
  /** A key or outcome could not be written. */
  onFault(error: unknown): void;
  trustedTime?: TrustedTime;
  clock: Clock;
};

/** `life` identifies this run of the backend. */
type RememberedState = RememberedParts & { life: string };

/**
 * The table `cloud_commands`: a key is on disk before its command is sent, its outcome after. Keys of this run age by the monotonic clock,
 * because setting the wall clock could expire them at once. Keys of earlier runs age by the wall clock.
 */
export function createRememberedCommands(parts: RememberedParts): RememberedCommands {
  const state: RememberedState = { ...parts, life: randomUUID() };
  const running = new Map<string, Promise<unknown>>();
  return {
    once: async <T>(key: CommandKey | null, action: () => Promise<T>, onRepeat?: () => void): Promise<T> => {
      if (key === null) return action();
      const { text } = key;
      const already = running.get(text);
      if (already !== undefined) {
        onRepeat?.();
        return already as Promise<T>;
      }
      const started = runOnce(state, key, action, onRepeat).finally(() => running.delete(text));
      running.set(text, started);
      return started as Promise<T>;
    },
  };
}

async function runOnce(
  state: RememberedState,
  key: CommandKey,
  action: () => Promise<unknown>,
  onRepeat: (() => void) | undefined,
): Promise<unknown> {
  const { db, onFault } = state;
  const { text } = key;
  if (!(await claimKey(state, key))) {
    onRepeat?.();
    return storedOutcome(db, text);
  }
  let outcome: unknown;
  try {
    outcome = await action();
  } catch (error) {
    if (error instanceof RpcError && error.code === rpcErrors.outcomeUnknown) throw error;
    // If the key stays, a repeated command gets outcomeUnknown, although nothing was done.
    await db.deleteFrom('cloud_commands').where('key', '=', text).execute().catch(onFault);
    throw error;
  }
  const written = db.updateTable('cloud_commands').set({ outcome: JSON.stringify(outcome) });
  // The key stays in any case: the command ran.
  await written.where('key', '=', text).execute().catch(onFault);
  return outcome;
}

/** Stores the key. @returns false when it is stored already. */
async function claimKey(
  { db, trustedTime = alwaysTrusted, clock, life }: RememberedState,
  { text, lifetimeMs }: CommandKey,
): Promise<boolean> {
  const at = clock.now();
  const monotonicAt = Math.round(clock.monotonic());
  return db.transaction().execute(async (transaction) => {
    const old = (ageMs: number) =>
      transaction.deleteFrom('cloud_commands').where(({ or, and, eb }) =>
        or([
          and([eb('life', '=', life), eb('monotonic_at', '<', monotonicAt - ageMs)]),
          // Those of earlier runs.
          and([eb('life', '!=', life), eb('at', '<', trustedTime.areAgesTrue() ? at - ageMs : 0)]),
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
}

async function storedOutcome(db: Database, text: string): Promise<unknown> {
  const row = await db.selectFrom('cloud_commands').select('outcome').where('key', '=', text).executeTakeFirst();
  if (row?.outcome == null) {
    throw new RpcError(rpcErrors.outcomeUnknown, 'The outcome was not stored; the command may have taken effect.');
  }
  return JSON.parse(row.outcome) as unknown;
}
