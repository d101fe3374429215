import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { runLoop } from '@station/kit/loop';
import { constantBackoff } from '@station/kit/retry';
import { createWaker } from '@station/kit/wakeable';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { Database } from '../store/schema.ts';

type Parts = {
  db: Database;
  accessTokens: Pick<AccessTokens, 'revoke'>;
  clock: Clock;
  trustedTime: TrustedTime;
  logger: BackendLogger;
};

/** The clock may jump, and a guest may be added at any time. */
const lookEveryMs = 10_000;

/**
 * Ends the sessions of guests whose end has passed. Their tokens end with it anyway; this closes what stays open when the clock jumps over the
 * end, and forgets the sessions. While the clock is not known to be right, they are only closed (ADR 61).
 */
export function startGuestEnds(parts: Parts): AsyncDisposable {
  const { clock, trustedTime, logger } = parts;
  const ending = new AbortController();
  const waker = createWaker(clock);
  const stepped = trustedTime.subscribe(() => waker.wake());
  /** Closed here since their end passed. */
  const closed = new Set<string>();
  const running = runLoop({
    turn: () => endPassed(parts, closed),
    waker,
    clock,
    signal: ending.signal,
    backoff: constantBackoff(lookEveryMs),
    onFailure: ({ error }) => logger.failed('ending the access of guests', error),
  }).catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      stepped[Symbol.dispose]();
      ending.abort();
      await running;
    },
  };
}

/** @returns milliseconds until the next look. */
async function endPassed(
  { db, accessTokens, clock, trustedTime, logger }: Parts,
  closed: Set<string>,
): Promise<number> {
  const now = clock.now();
  const guests = await db
    .selectFrom('member_limits')
    .innerJoin('users', 'users.id', 'member_limits.user_id')
    .select(['users.id', 'member_limits.ends_at'])
    .where('users.role', '=', 'member')
    .where('member_limits.ends_at', 'is not', null)
    .execute();
  const passed = new Set(guests.filter(({ ends_at: endsAt }) => (endsAt ?? now) <= now).map(({ id }) => id));
  for (const id of closed) if (!passed.has(id)) closed.delete(id);
  for (const userId of passed) {
    if (!closed.has(userId)) accessTokens.revoke(userId);
    closed.add(userId);
    if (!trustedTime.areAgesTrue()) continue;
    const { numDeletedRows } = await db.deleteFrom('sessions').where('user_id', '=', userId).executeTakeFirst();
    if (numDeletedRows > 0n) logger.event('guest_ended', { userId });
  }
  const next = Math.min(...guests.map(({ ends_at: endsAt }) => (endsAt ?? now) - now).filter((leftMs) => leftMs > 0));
  return Math.min(next, lookEveryMs);
}
