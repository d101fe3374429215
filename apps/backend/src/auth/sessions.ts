import { randomUUIDv7, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { Database } from '../store/schema.ts';
import { hashToken, newToken } from './token-hash.ts';

export type Rotation =
  | { kind: 'rotated'; token: string; userId: string; expiresAt: number }
  | { kind: 'unknown' }
  | { kind: 'expired' }
  | { kind: 'reused'; userId: string; sessionId: string };

export type Sessions = {
  open(userId: string): Promise<{ token: string; expiresAt: number }>;
  /** Exchanges a refresh token for the next one. An old one of a session that still exists ends that session. */
  rotate(token: string): Promise<Rotation>;
  /** Ends the session of this token, if it is the valid one. */
  end(token: string): Promise<void>;
  /** Ends all sessions of a user, but for the one of `exceptToken`. */
  endAll(userId: string, exceptToken?: string): Promise<void>;
};

/** A session that is not used for this long has ended. */
export const sessionLifetimeMs = 30 * 24 * 60 * 60 * 1000;

/**
 * Sessions behind the refresh cookie. A token is `<session id>.<256 random bits>`; the session keeps the hash of the only one that is valid, so
 * any other with its id was used before (or is forged by someone who knows the id): the session ends either way, and no row
 * is needed for each old token.
 */
export function createSessions({ db, clock }: { db: Database; clock: Clock }): Sessions {
  const find = async (token: string) => {
    const id = parseToken(token);
    if (id === null) return null;
    const session = await db.selectFrom('refresh_tokens').selectAll().where('id', '=', id).executeTakeFirst();
    return session ?? null;
  };
  const remove = async (id: string): Promise<void> => {
    await db.deleteFrom('refresh_tokens').where('id', '=', id).execute();
  };

  return {
    open: async (userId) => {
      const id = randomUUIDv7();
      const token = `${id}.${newToken()}`;
      const now = clock.now();
      const times = { created_at: now, used_at: now, expires_at: now + sessionLifetimeMs };
      await db.deleteFrom('refresh_tokens').where('expires_at', '<=', now).execute();
      await db
        .insertInto('refresh_tokens')
        .values({ id, user_id: userId, token_hash: hashToken(token), ...times })
        .execute();
      return { token, expiresAt: times.expires_at };
    },
    rotate: async (token) => {
      const session = await find(token);
      if (session === null) return { kind: 'unknown' };
      const now = clock.now();
      const { id, user_id: userId } = session;
      if (session.expires_at <= now) {
        await remove(id);
        return { kind: 'expired' };
      }
      const next = `${id}.${newToken()}`;
      const expiresAt = now + sessionLifetimeMs;
      const updated = await db
        .updateTable('refresh_tokens')
        .set({ token_hash: hashToken(next), used_at: now, expires_at: expiresAt })
        .where('id', '=', id)
        .where('token_hash', '=', hashToken(token))
        .executeTakeFirst();
      if (updated.numUpdatedRows === 1n) return { kind: 'rotated', token: next, userId, expiresAt };
      await remove(id);
      return { kind: 'reused', userId, sessionId: id };
    },
    end: async (token) => {
      const session = await find(token);
      if (session !== null && sameHash(session.token_hash, hashToken(token))) await remove(session.id);
    },
    endAll: async (userId, exceptToken) => {
      const kept = exceptToken === undefined ? null : parseToken(exceptToken);
      const all = db.deleteFrom('refresh_tokens').where('user_id', '=', userId);
      await (kept === null ? all : all.where('id', '!=', kept)).execute();
    },
  };
}

const tokenForm = /^([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\.[\w-]{43}$/;
const parseToken = (token: string): string | null => tokenForm.exec(token)?.[1] ?? null;
const sameHash = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a), Buffer.from(b));
