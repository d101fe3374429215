import { sql } from 'kysely';
import type { Clock } from '@station/kit/clock';
import { constantBackoff, retry } from '@station/kit/retry';
import { accessTokenLifetimeMs, type AccessTokens } from '../core/access-tokens.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { Database } from '../store/schema.ts';
import type { Transact } from './transact.ts';

const retryMs = 1_000;
/** Ten minutes: a revocation must reach all replicas. */
const maxAttempts = 600;

export type SharedRevocations = Disposable & {
  /** Applies revocations of others whose notification was lost. */
  reload(): Promise<void>;
};

/** A revocation of access tokens applies to all replicas, also to one that starts later. */
export async function shareRevocations(options: {
  tokens: AccessTokens;
  db: Database;
  transact: Transact;
  clock: Clock;
  logger: BackendLogger;
}): Promise<SharedRevocations> {
  const { tokens, db, transact, clock, logger } = options;
  const reload = (): Promise<void> => takeOverRevocations(db, tokens, clock);
  await reload();
  const ending = new AbortController();
  const write = (userId: string, at: number): Promise<void> =>
    retry(() => writeRevocation(transact, userId, at), {
      clock,
      signal: ending.signal,
      backoff: constantBackoff(retryMs),
      onFailure: ({ error, attempt }) => {
        if (attempt === 1) {
          logger.failed('sharing a revocation', error);
        }
        if (attempt === maxAttempts) throw error;
      },
    });
  const listening = tokens.onRevoke((userId, { at, isOurs }) => {
    if (isOurs) write(userId, at).catch(() => undefined);
  });
  return {
    reload,
    [Symbol.dispose]: () => {
      listening[Symbol.dispose]();
      ending.abort();
    },
  };
}

async function takeOverRevocations(db: Database, tokens: AccessTokens, clock: Clock): Promise<void> {
  const since = clock.now() - 2 * accessTokenLifetimeMs;
  const rows = await db.selectFrom('token_revocations').selectAll().where('at', '>', since).execute();
  for (const { user_id, at } of rows) tokens.takeOver(user_id, at);
}

async function writeRevocation(transact: Transact, userId: string, at: number): Promise<void> {
  await transact(async (transaction, announce) => {
    const old = at - 2 * accessTokenLifetimeMs;
    await transaction.deleteFrom('token_revocations').where('at', '<', old).execute();
    await sql`
      insert into token_revocations (user_id, at) values (${userId}, ${at})
      on conflict (user_id) do update set at = greatest(token_revocations.at, excluded.at)`.execute(transaction);
    await announce({ kind: 'revoked', userId, at });
  });
}
