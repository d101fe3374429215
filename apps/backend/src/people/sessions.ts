import { createHmac, hkdfSync, randomUUIDv7, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { type Disk, readText, writeDurable } from '@station/kit/durable-files';
import { hashToken, newToken } from '../core/secrets.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';

type Rotation =
  | { kind: 'rotated'; token: string; userId: string; expiresAt: number }
  | { kind: 'unknown' }
  | { kind: 'expired' }
  | { kind: 'reused'; userId: string; sessionId: string };

export type Sessions = {
  /** @returns null when `passwordHash`, which the user was let in by, is no longer the one that is stored. */
  open(userId: string, passwordHash: string): Promise<{ token: string; expiresAt: number } | null>;
  /**
   * Exchanges a refresh token for the next one; for the same one again when the answer was lost or two tabs asked at once. Any older one of
   * a session that still exists ends that session.
   */
  rotate(token: string): Promise<Rotation>;
  /** Ends the session of this token, if it is the valid one. */
  end(token: string): Promise<void>;
  /** Ends all sessions of a user, but for the one of `exceptToken`. */
  endAll(userId: string, exceptToken?: string): Promise<void>;
  /**
   * Stores the hash of a new password and ends the sessions that were opened by an old one, but for the one of `exceptToken`.
   * @param replaced the hash that must be the stored one; left out: any.
   * @returns false when it is not, or the user is gone.
   */
  replacePassword(
    userId: string,
    passwordHash: string,
    options?: { replaced?: string; exceptToken?: string | undefined },
  ): Promise<boolean>;
};

/** A session that is not used for this long has ended. */
const sessionLifetimeMs = 30 * 24 * 60 * 60 * 1000;
/**
 * How long a token may be exchanged again while the next one was not used. A thief gains that using it in these seconds is not noticed at
 * once: only when the next one is used twice, more than these seconds apart, as it will be.
 */
const repeatMs = 20_000;

/**
 * Sessions behind the refresh cookie. A token is `<session id>.<256 bits>`, the first random, each other made of the one before by `key`,
 * so that an exchange can be repeated though only a hash is stored. The session keeps the hash of the only one that is valid, so any other
 * with its id was used before (or is forged by someone who knows the id): the session ends either way, and no row is needed for each old
 * token.
 */
export function createSessions({ db, key, clock }: { db: Database; key: Buffer; clock: Clock }): Sessions {
  const find = async (token: string) => {
    const id = parseToken(token);
    if (id === null) return null;
    const session = await db.selectFrom('refresh_tokens').selectAll().where('id', '=', id).executeTakeFirst();
    return session ?? null;
  };
  const after = (token: string, id: string): string =>
    `${id}.${createHmac('sha256', key).update(token).digest('base64url')}`;
  const remove = async (id: string): Promise<void> => {
    await db.deleteFrom('refresh_tokens').where('id', '=', id).execute();
  };

  const endAll = async (on: Database, userId: string, exceptToken: string | undefined): Promise<void> => {
    const kept = exceptToken === undefined ? null : parseToken(exceptToken);
    const all = on.deleteFrom('refresh_tokens').where('user_id', '=', userId);
    await (kept === null ? all : all.where('id', '!=', kept)).execute();
  };

  return {
    open: async (userId, passwordHash) => {
      const id = randomUUIDv7();
      const token = `${id}.${newToken()}`;
      const now = clock.now();
      const times = { created_at: now, used_at: now, expires_at: now + sessionLifetimeMs };
      await db.deleteFrom('refresh_tokens').where('expires_at', '<=', now).execute();
      const isOpened = await db.transaction().execute(async (transaction) => {
        // Written, not read: a change of the password then comes before this transaction or after it, never in the middle.
        const same = { station_password_hash: passwordHash };
        if (!(await setPassword(transaction, userId, same, passwordHash))) return false;
        await transaction
          .insertInto('refresh_tokens')
          .values({ id, user_id: userId, token_hash: hashToken(token), ...times })
          .execute();
        return true;
      });
      return isOpened ? { token, expiresAt: times.expires_at } : null;
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
      const next = after(token, id);
      const expiresAt = now + sessionLifetimeMs;
      const updated = await db
        .updateTable('refresh_tokens')
        .set({ token_hash: hashToken(next), used_at: now, expires_at: expiresAt })
        .where('id', '=', id)
        .where('token_hash', '=', hashToken(token))
        .executeTakeFirst();
      if (updated.numUpdatedRows === 1n) return { kind: 'rotated', token: next, userId, expiresAt };
      const current = await find(token);
      if (current === null) return { kind: 'unknown' };
      // Whichever way the clock was set meanwhile.
      const isRecent = Math.abs(clock.now() - current.used_at) <= repeatMs;
      if (isRecent && sameHash(current.token_hash, hashToken(next))) {
        return { kind: 'rotated', token: next, userId, expiresAt: current.expires_at };
      }
      await remove(id);
      return { kind: 'reused', userId, sessionId: id };
    },
    end: async (token) => {
      const session = await find(token);
      if (session !== null && sameHash(session.token_hash, hashToken(token))) await remove(session.id);
    },
    endAll: (userId, exceptToken) => endAll(db, userId, exceptToken),
    replacePassword: (userId, passwordHash, { replaced, exceptToken } = {}) =>
      db.transaction().execute(async (transaction) => {
        // A password that is set here is the one of home from now on.
        const set = { station_password_hash: passwordHash, home_password_hash: null };
        const isReplaced = await setPassword(transaction, userId, set, replaced);
        if (isReplaced) await endAll(transaction, userId, exceptToken);
        return isReplaced;
      }),
  };
}

async function setPassword(
  db: DatabaseTransaction,
  userId: string,
  set: { station_password_hash: string; home_password_hash?: null },
  before: string | undefined,
): Promise<boolean> {
  const user = db.updateTable('users').set(set).where('id', '=', userId);
  const updated = before === undefined ? user : user.where('station_password_hash', '=', before);
  return (await updated.executeTakeFirst()).numUpdatedRows === 1n;
}

/** Key for `createSessions`: the same at every backend that shares the secret. */
export const refreshKeyOf = (jwtSecret: string): Buffer =>
  Buffer.from(hkdfSync('sha256', jwtSecret, '', 'station refresh tokens', 32));

const tokenForm = /^([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\.[\w-]{43}$/;
const parseToken = (token: string): string | null => tokenForm.exec(token)?.[1] ?? null;
const sameHash = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** The secret from the configuration, else the one in the file, which is made once and only its owner may read. */
export async function readJwtSecret(options: { configured: string | null; disk: Disk; path: string }): Promise<string> {
  if (options.configured !== null) return options.configured;
  const kept = (await readText(options.disk, options.path))?.trim();
  if (kept !== undefined && kept.length >= 32) return kept;
  const secret = newToken();
  await writeDurable(options.disk, options.path, `${secret}\n`);
  return secret;
}
