import { randomUUIDv7 } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { SetupRequest } from '@station/protocol/rest';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { Database } from '../store/schema.ts';
import {
  claimOwnership,
  createUserStore,
  insertUser,
  normalEmail,
  type StationStore,
  type UserRow,
  type UserStore,
} from '../store/station-store.ts';
import type { LoginLimiter } from './login-limiter.ts';
import type { Passwords } from './passwords.ts';
import type { Client, KnownSession, Sessions } from './sessions.ts';
import type { SetupCode } from './setup-code.ts';

/** A user who has just logged in: the content of the answer's body and cookie. */
export type OpenedSession = {
  kind: 'opened';
  user: UserRow;
  accessToken: string;
  accessExpiresAt: number;
  refreshToken: string;
  refreshExpiresAt: number;
};
export type Limited = { kind: 'limited'; retryAfterMs: number };
export type CodeRefused = Limited | { kind: 'already_done' } | { kind: 'wrong_code' };
type SetupResult = OpenedSession | CodeRefused;
type LoginResult = OpenedSession | Limited | { kind: 'wrong_credentials' | 'access_ended' };
type RefreshResult = OpenedSession | { kind: 'ended' };
type PasswordResult = { kind: 'changed' } | Limited | { kind: 'wrong_password' | 'same_password' };

export type AuthService = {
  isSetupNeeded(): Promise<boolean>;
  /** The set-up code, for what is done before there is an owner. Attempts are counted as those of `setup`. */
  checkSetupCode(code: string, address: string): Promise<{ kind: 'right' } | CodeRefused>;
  setup(request: SetupRequest, client: Client): Promise<SetupResult>;
  login(email: string, password: string, client: Client): Promise<LoginResult>;
  refresh(refreshToken: string, client: Client): Promise<RefreshResult>;
  /** Ends the session, and its access tokens at once. */
  logout(refreshToken: string): Promise<void>;
  listSessions(userId: string): Promise<KnownSession[]>;
  /** The same as `logout` for a session of this user elsewhere. @returns whether there was one. */
  endSession(userId: string, sessionId: string): Promise<boolean>;
  changePassword(userId: string, passwords: NewPassword, context: RequestContext): Promise<PasswordResult>;
};

type NewPassword = { current: string; next: string };
type RequestContext = { address: string; refreshToken: string | undefined };

type Parts = {
  db: Database;
  users: UserStore;
  station: StationStore;
  sessions: Sessions;
  accessTokens: AccessTokens;
  passwords: Passwords;
  setupCode: SetupCode;
  limiter: LoginLimiter;
  clock: Clock;
  logger: BackendLogger;
};

export function createAuthService(parts: Parts): AuthService {
  return {
    isSetupNeeded: () => isSetupNeeded(parts),
    checkSetupCode: (code, address) => checkSetupCode(parts, code, address),
    setup: (request, client) => setUp(parts, request, client),
    login: (email, password, client) => logIn(parts, { email, password }, client),
    refresh: (refreshToken, client) => refresh(parts, refreshToken, client),
    logout: async (refreshToken) => {
      const ended = await parts.sessions.end(refreshToken);
      if (ended !== null) parts.accessTokens.revoke(ended);
    },
    listSessions: (userId) => parts.sessions.list(userId),
    endSession: async (userId, sessionId) => {
      const isEnded = await parts.sessions.endOne(userId, sessionId);
      if (isEnded) parts.accessTokens.revoke(sessionId);
      return isEnded;
    },
    changePassword: (userId, passwords, context) => changePassword(parts, userId, passwords, context),
  };
}

/** All share one set-up code; its attempts are counted under this account name. */
const setupAccount = '(setup)';

const isSetupNeeded = async ({ station }: Parts): Promise<boolean> => (await station.read()).owner_id === null;

async function checkSetupCode(parts: Parts, code: string, address: string): Promise<{ kind: 'right' } | CodeRefused> {
  const { setupCode, limiter, logger } = parts;
  if (!(await isSetupNeeded(parts))) return { kind: 'already_done' };
  const limit = await countAttempt(parts, setupAccount, address);
  if (limit !== null) return limit;
  if (!(await setupCode.matches(code))) {
    logger.event('login_failed', { address, reason: 'wrong set-up code' });
    return { kind: 'wrong_code' };
  }
  await limiter.succeeded(setupAccount, address, null);
  return { kind: 'right' };
}

async function setUp(parts: Parts, request: SetupRequest, client: Client): Promise<SetupResult> {
  const { db, sessions, accessTokens, passwords, setupCode, clock, logger } = parts;
  const code = await checkSetupCode(parts, request.code, client.address);
  if (code.kind !== 'right') return code;
  const passwordHash = await passwords.hash(request.password);
  const since = accessTokens.moment();
  const user = await createOwner(db, request, passwordHash, clock.now());
  if (user === null) return { kind: 'already_done' };
  await setupCode.remove();
  logger.event('setup_done', { userId: user.id });
  const session = await sessions.open(user.id, passwordHash, client);
  return session === null ? { kind: 'already_done' } : openedSession(parts, user, session, since);
}

async function logIn(
  parts: Parts,
  { email, password }: { email: string; password: string },
  client: Client,
): Promise<LoginResult> {
  const { users, sessions, accessTokens, passwords, limiter, clock, logger } = parts;
  const { address } = client;
  const account = normalEmail(email);
  const limit = await countAttempt(parts, account, address);
  if (limit !== null) return limit;
  const since = accessTokens.moment();
  const user = await users.findByEmail(account);
  const hash = user?.station_password_hash ?? null;
  const matches = await passwords.matches(password, hash);
  const session = user !== null && hash !== null && matches ? await sessions.open(user.id, hash, client) : null;
  // Told only to those who know the password.
  if (matches && user?.ends_at != null && user.ends_at <= clock.now()) {
    await limiter.succeeded(account, address, user.id);
    return { kind: 'access_ended' };
  }
  if (user === null || session === null) {
    logger.event('login_failed', { address, reason: 'wrong address or password' });
    return { kind: 'wrong_credentials' };
  }
  await limiter.succeeded(account, address, user.id);
  return openedSession(parts, user, session, since);
}

async function refresh(parts: Parts, refreshToken: string, client: Client): Promise<RefreshResult> {
  const { users, sessions, accessTokens, logger } = parts;
  const since = accessTokens.moment();
  const rotation = await sessions.rotate(refreshToken, client);
  if (rotation.kind === 'reused') {
    logger.event('refresh_token_reused', { userId: rotation.userId, sessionId: rotation.sessionId });
    accessTokens.revoke(rotation.sessionId);
  }
  if (rotation.kind !== 'rotated') return { kind: 'ended' };
  const user = await users.findById(rotation.userId);
  return user === null ? { kind: 'ended' } : openedSession(parts, user, rotation, since);
}

async function changePassword(
  parts: Parts,
  userId: string,
  { current, next }: NewPassword,
  { address, refreshToken }: RequestContext,
): Promise<PasswordResult> {
  const { sessions, accessTokens, passwords } = parts;
  const checked = await checkPassword(parts, userId, current, address);
  if (checked.kind !== 'right') return checked;
  const { hash } = checked;
  if (next === current) return { kind: 'same_password' };
  const options = { replaced: hash, exceptToken: refreshToken };
  // False when another request changed the password meanwhile.
  if (!(await sessions.replacePassword(userId, await passwords.hash(next), options))) return { kind: 'wrong_password' };
  // A thief of the old password may hold an access token. The page of this request renews its own through its session.
  accessTokens.revoke(userId);
  return { kind: 'changed' };
}

/** The present password of a user who is logged in; wrong ones are counted as log-ins. */
export async function checkPassword(
  parts: Pick<Parts, 'users' | 'passwords' | 'limiter' | 'logger'>,
  userId: string,
  password: string,
  address: string,
): Promise<{ kind: 'right'; user: UserRow; hash: string } | Limited | { kind: 'wrong_password' }> {
  const { users, passwords, limiter } = parts;
  const user = await users.findById(userId);
  const account = user?.email ?? userId;
  const limit = await countAttempt(parts, account, address);
  if (limit !== null) return limit;
  const hash = user?.station_password_hash ?? null;
  const matches = await passwords.matches(password, hash);
  if (user === null || hash === null || !matches) return { kind: 'wrong_password' };
  await limiter.succeeded(account, address, userId);
  return { kind: 'right', user, hash };
}

/** Counts an attempt. @returns the refusal when there were too many, else null. */
export async function countAttempt(
  { limiter, logger }: Pick<Parts, 'limiter' | 'logger'>,
  account: string | null,
  address: string,
): Promise<Limited | null> {
  const decision = await limiter.attempt(account, address);
  if (decision.allowed) return null;
  logger.event('login_limited', { address, retryAfterSeconds: Math.ceil(decision.retryAfterMs / 1000) });
  return { kind: 'limited', retryAfterMs: decision.retryAfterMs };
}

export async function openedSession(
  { accessTokens }: Pick<Parts, 'accessTokens'>,
  user: UserRow,
  { id: sessionId, ...refreshToken }: { id: string; token: string; expiresAt: number },
  since: number,
): Promise<OpenedSession> {
  const access = await accessTokens.issue({ userId: user.id, role: user.role, endsAt: user.ends_at, sessionId }, since);
  return {
    kind: 'opened',
    user,
    accessToken: access.token,
    accessExpiresAt: access.expiresAt,
    refreshToken: refreshToken.token,
    refreshExpiresAt: refreshToken.expiresAt,
  };
}

/** The first user and the ownership of the station, in one transaction. Null when another request was first. */
async function createOwner(
  db: Database,
  request: SetupRequest,
  passwordHash: string,
  now: number,
): Promise<UserRow | null> {
  const id = randomUUIDv7();
  const { email, name, stationName, timeZone } = request;
  try {
    return await db.transaction().execute(async (transaction) => {
      const inserted = await insertUser(transaction, { id, email, name, role: 'owner', passwordHash, createdAt: now });
      if (!inserted || !(await claimOwnership(transaction, { userId: id, stationName, timeZone })))
        throw new OwnedAlready();
      return createUserStore(transaction).findById(id);
    });
  } catch (error) {
    if (error instanceof OwnedAlready) return null;
    throw error;
  }
}

/** Rolls the transaction back. */
class OwnedAlready extends Error {}
