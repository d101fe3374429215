import { createHmac, hkdfSync, randomUUIDv7 } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { Role } from '@station/protocol/roles';
import { type Disk, readText, writeDurable } from '@station/kit/durable-files';
import { isSameHash, hashToken, newToken } from '../core/secrets.ts';
import { storageFaultOf } from '../core/storage-faults.ts';
import { alwaysTrusted, type TrustedTime } from '../core/trusted-time.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import { createUserStore } from '../store/station-store.ts';

type Opened = { id: string; token: string; expiresAt: number };
type Rotation =
  | ({ kind: 'rotated'; userId: string } & Opened)
  | { kind: 'unknown' }
  | { kind: 'expired' }
  | { kind: 'reused'; userId: string; sessionId: string };

/** The browser or program at the other end. */
export type Client = {
  address: string;
  /** As it names itself; null: it does not. */
  userAgent: string | null;
  /** What it got at an earlier log-in (`login_devices`); null: nothing. */
  device: string | null;
};

/** A session for people; times in milliseconds since the epoch. */
export type KnownSession = {
  id: string;
  userAgent: string | null;
  address: string | null;
  openedAt: number;
  usedAt: number;
};

export type Sessions = {
  /**
   * @returns null when `passwordHash`, the one at the log-in, is no longer the stored one, the cloud closed the account, or the end of a
   * guest has passed.
   */
  open(userId: string, passwordHash: string, client: Client): Promise<Opened | null>;
  /**
   * Exchanges a refresh token for the next one, or again for the same one when the answer was lost or two tabs asked at once. An older
   * token of a session ends that session. While the storage cannot be written, the valid token stays as it is.
   */
  rotate(token: string, client: Client): Promise<Rotation>;
  /** Ends the session of this token, if it is the valid one. @returns its id; null when nothing ended. */
  end(token: string): Promise<string | null>;
  /** The sessions of a user that can still be renewed, the last used first. */
  list(userId: string): Promise<KnownSession[]>;
  /** Ends one session of a user. @returns whether there was one. */
  endOne(userId: string, sessionId: string): Promise<boolean>;
  /** Ends all sessions of a user except the one of `exceptToken`. */
  endAll(userId: string, exceptToken?: string): Promise<void>;
  /** The same password with another hash: its sessions stay. Nothing happens when `from` is not the stored one any more. */
  renewHash(userId: string, from: string, to: string): Promise<void>;
  /**
   * Stores the hash of a new password and ends the sessions opened with an old one, except the one of `exceptToken`.
   * @param replaced the hash that must be the stored one; left out: any. That is a reset, which also removes the passkeys: from then on
   * nothing but the new password opens the account.
   * @returns false when it is not, or the user is gone.
   */
  replacePassword(
    userId: string,
    passwordHash: string,
    options?: { replaced?: string; exceptToken?: string | undefined },
  ): Promise<boolean>;
};

const dayMs = 24 * 60 * 60 * 1000;
/** A session that is not used for this long has ended. */
const sessionLifetimeMs = 30 * dayMs;
/** One that is used all the time ends too: who copied it unseen does not keep it for ever. */
const longestSessionMs = 365 * dayMs;
/**
 * How long a token may be exchanged again while the next one was not used. A theft within this time is noticed later: when the next token is
 * used twice, more than this time apart.
 */
const repeatMs = 20_000;
/** A list of sessions for people ends here. */
const maxListed = 100;

type Parts = {
  db: Database;
  key: Buffer;
  clock: Clock;
  trustedTime?: TrustedTime;
  /** Somebody logged in. */
  onOpened?: (userId: string, client: Client) => void;
};

/**
 * Sessions behind the refresh cookie. A token is `<session id>.<256 bits>`: the first is random, each next one is derived from the previous
 * one by `key`, so that an exchange can be repeated although only a hash is stored. The session keeps the hash of the only valid token. Any
 * other token with its id was used before, or is forged by someone who knows the id: the session ends in both cases.
 */
export function createSessions(parts: Parts): Sessions {
  const { db } = parts;
  return {
    open: (userId, passwordHash, client) => open(parts, userId, passwordHash, client),
    rotate: (token, client) => rotate(parts, token, client),
    end: async (token) => {
      const session = await find(db, token);
      if (session === null || !isSameHash(session.token_hash, hashToken(token))) return null;
      await remove(db, session.id);
      return session.id;
    },
    list: (userId) => list(parts, userId),
    endOne: async (userId, sessionId) => {
      const own = db.deleteFrom('sessions').where('id', '=', sessionId).where('user_id', '=', userId);
      const isEnded = (await own.executeTakeFirst()).numDeletedRows > 0n;
      // Somebody ends it from elsewhere: the browser is trusted no more.
      const device = db.deleteFrom('login_devices').where('session_id', '=', sessionId);
      await device.where('user_id', '=', userId).execute();
      return isEnded;
    },
    endAll: (userId, exceptToken) => endAll(db, userId, exceptToken),
    replacePassword: (userId, passwordHash, options) => replacePassword(db, userId, passwordHash, options),
    renewHash: async (userId, from, to) => {
      const set = { station_password_hash: to, replaced_hash: hashToken(from) };
      const user = db.updateTable('users').set(set).where('id', '=', userId);
      await user.where('station_password_hash', '=', from).execute();
    },
  };
}

/** As `replacePassword` of `Sessions`. */
export async function replacePassword(
  db: Database,
  userId: string,
  passwordHash: string,
  { replaced, exceptToken }: { replaced?: string; exceptToken?: string | undefined } = {},
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    // A password that is set here is the local one from now on.
    const set = { station_password_hash: passwordHash, home_password_hash: null, replaced_hash: null };
    const isReplaced = await setPassword(transaction, userId, set, replaced);
    if (isReplaced) await endAll(transaction, userId, exceptToken);
    if (isReplaced && replaced === undefined) {
      await transaction.deleteFrom('passkeys').where('user_id', '=', userId).execute();
    }
    return isReplaced;
  });
}

async function open(
  { db, clock, trustedTime = alwaysTrusted, onOpened }: Parts,
  userId: string,
  passwordHash: string,
  client: Client,
): Promise<Opened | null> {
  const id = randomUUIDv7();
  const token = `${id}.${newToken()}`;
  const now = clock.now();
  const times = {
    created_at: now,
    used_at: now,
    expires_at: now + sessionLifetimeMs,
    ends_at: now + longestSessionMs,
  };
  if (trustedTime.areAgesTrue()) await db.deleteFrom('sessions').where('expires_at', '<=', now).execute();
  const isOpened = await db.transaction().execute(async (transaction) => {
    if (!(await keepPassword(transaction, userId, passwordHash))) return false;
    if (await hasEnded(transaction, userId, now)) return false;
    await transaction
      .insertInto('sessions')
      .values({ id, user_id: userId, token_hash: hashToken(token), ...times, ...columnsOf(client) })
      .execute();
    return true;
  });
  if (!isOpened) return null;
  onOpened?.(userId, client);
  return { id, token, expiresAt: times.expires_at };
}

/** Of what a client calls itself. */
const maxUserAgentLength = 300;
const columnsOf = ({ userAgent, address }: Client): { user_agent: string | null; address: string } => ({
  user_agent: userAgent?.slice(0, maxUserAgentLength) ?? null,
  address,
});

async function list({ db, clock }: Parts, userId: string): Promise<KnownSession[]> {
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'user_agent', 'address', 'created_at', 'used_at'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', clock.now())
    .orderBy('used_at', 'desc')
    .orderBy('id', 'desc')
    .limit(maxListed)
    .execute();
  return rows.map(({ id, user_agent: userAgent, address, created_at: openedAt, used_at: usedAt }) => ({
    id,
    userAgent,
    address,
    openedAt,
    usedAt,
  }));
}

/** The user of a session that has not ended, with their present role. */
export async function findSessionHolder(
  db: Database,
  sessionId: string,
): Promise<{ userId: string; role: Role; endsAt: number | null } | null> {
  const session = db.selectFrom('sessions').select('user_id').where('id', '=', sessionId);
  const user = await createUserStore(db).findById((await session.executeTakeFirst())?.user_id ?? '');
  return user && { userId: user.id, role: user.role, endsAt: user.ends_at };
}

async function rotate(
  { db, key, clock, trustedTime = alwaysTrusted }: Parts,
  token: string,
  client: Client,
): Promise<Rotation> {
  const session = await find(db, token);
  if (session === null) return { kind: 'unknown' };
  const now = clock.now();
  const { id, user_id: userId } = session;
  if (session.expires_at <= now) {
    // A wrong clock must not end a session for good.
    if (trustedTime.areAgesTrue()) await remove(db, id);
    return { kind: 'expired' };
  }
  // The session stays: the end may be moved.
  if (await hasEnded(db, userId, now)) return { kind: 'expired' };
  const next = `${id}.${createHmac('sha256', key).update(token).digest('base64url')}`;
  const expiresAt = Math.min(now + sessionLifetimeMs, session.ends_at);
  const isUpdated = await db
    .updateTable('sessions')
    .set({ token_hash: hashToken(next), used_at: now, expires_at: expiresAt, ...columnsOf(client) })
    .where('id', '=', id)
    .where('token_hash', '=', hashToken(token))
    .executeTakeFirst()
    .then(({ numUpdatedRows }) => numUpdatedRows === 1n)
    .catch((error: unknown) => {
      // A full disk must log nobody out who can still read: this token stays the valid one.
      const isCurrent = isSameHash(session.token_hash, hashToken(token));
      if (isCurrent && storageFaultOf(error) !== null) return null;
      throw error;
    });
  if (isUpdated === null) return { kind: 'rotated', id, token, userId, expiresAt: session.expires_at };
  if (isUpdated) return { kind: 'rotated', id, token: next, userId, expiresAt };
  const current = await find(db, token);
  if (current === null) return { kind: 'unknown' };
  // The absolute value, because the clock may have been set meanwhile.
  const isRecent = Math.abs(clock.now() - current.used_at) <= repeatMs;
  if (isRecent && isSameHash(current.token_hash, hashToken(next))) {
    return { kind: 'rotated', id, token: next, userId, expiresAt: current.expires_at };
  }
  await remove(db, id);
  return { kind: 'reused', userId, sessionId: id };
}

/** Whether the end of a guest has passed. */
async function hasEnded(db: Database, userId: string, now: number): Promise<boolean> {
  const user = await createUserStore(db).findById(userId);
  return user?.ends_at != null && user.ends_at <= now;
}

async function find(db: Database, token: string) {
  const id = parseToken(token);
  if (id === null) return null;
  const session = await db.selectFrom('sessions').selectAll().where('id', '=', id).executeTakeFirst();
  return session ?? null;
}

async function remove(db: Database, id: string): Promise<void> {
  await db.deleteFrom('sessions').where('id', '=', id).execute();
}

async function endAll(db: Database, userId: string, exceptToken: string | undefined): Promise<void> {
  const kept = exceptToken === undefined ? null : parseToken(exceptToken);
  const all = db.deleteFrom('sessions').where('user_id', '=', userId);
  await (kept === null ? all : all.where('id', '!=', kept)).execute();
  const devices = db.deleteFrom('login_devices').where('user_id', '=', userId);
  await (kept === null ? devices : devices.where('session_id', '!=', kept)).execute();
}

/**
 * Writes the stored password once more: a concurrent change of it then comes before or after this transaction, never between.
 * @returns false when another one is stored, or the account is closed.
 */
export const keepPassword = (db: DatabaseTransaction, userId: string, passwordHash: string): Promise<boolean> =>
  setPassword(db, userId, { station_password_hash: passwordHash }, passwordHash);

async function setPassword(
  db: DatabaseTransaction,
  userId: string,
  set: { station_password_hash: string; home_password_hash?: null; replaced_hash?: null },
  before: string | undefined,
): Promise<boolean> {
  const user = db.updateTable('users').set(set).where('id', '=', userId);
  const updated = (before === undefined ? user : user.where('station_password_hash', '=', before)).where(
    'closed_at',
    'is',
    null,
  );
  return (await updated.executeTakeFirst()).numUpdatedRows === 1n;
}

/** Key for `createSessions`: the same at every backend that shares the secret. */
export const refreshKeyOf = (jwtSecret: string): Buffer =>
  Buffer.from(hkdfSync('sha256', jwtSecret, '', 'station refresh tokens', 32));

const tokenPattern = /^([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\.[\w-]{43}$/;
const parseToken = (token: string): string | null => tokenPattern.exec(token)?.[1] ?? null;

/** The secret from the configuration, else the one in the file, which is created once and readable for its owner only. */
export async function readJwtSecret(options: { configured: string | null; disk: Disk; path: string }): Promise<string> {
  if (options.configured !== null) return options.configured;
  const kept = (await readText(options.disk, options.path))?.trim();
  if (kept !== undefined && kept.length >= 32) return kept;
  const secret = newToken();
  await writeDurable(options.disk, options.path, `${secret}\n`);
  return secret;
}
