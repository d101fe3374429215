import { randomUUIDv7 } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { SetupRequest } from '@station/protocol/rest';
import type { AccessTokens } from '../core/access-tokens.ts';
import { hashToken, newToken } from '../core/secrets.ts';
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
import type { FirstRun } from './first-run.ts';
import { type Attempt, type LoginLimiter, setupAccount } from './login-limiter.ts';
import type { LoginMemory } from './login-memory.ts';
import { isBcrypt } from './password-hashes.ts';
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
  /** Proves later that this browser has logged in to the account. */
  deviceToken: string;
};
export type Limited = { kind: 'limited'; retryAfterMs: number };
export type CodeRefused = Limited | { kind: 'already_done' | 'wrong_code' | 'restoring' };
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
  /** The same for all sessions of this user, the present one as well. */
  endAllSessions(userId: string): Promise<void>;
  changePassword(userId: string, passwords: NewPassword, context: RequestContext): Promise<PasswordResult>;
};

type NewPassword = { current: string; next: string };
type RequestContext = { client: Client; refreshToken: string | undefined };

type Parts = {
  db: Database;
  users: UserStore;
  station: StationStore;
  sessions: Sessions;
  accessTokens: AccessTokens;
  passwords: Passwords;
  setupCode: SetupCode;
  firstRun: FirstRun;
  limiter: LoginLimiter;
  memory: LoginMemory;
  clock: Clock;
  logger: BackendLogger;
};

export function createAuthService(parts: Parts): AuthService {
  return {
    isSetupNeeded: () => isSetupNeeded(parts),
    checkSetupCode: (code, address) => checkSetupCode(parts, code, address),
    setup: async (request, client) =>
      (await parts.firstRun.setUp(() => setUp(parts, request, client))) ?? { kind: 'restoring' },
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
    endAllSessions: async (userId) => {
      await parts.sessions.endAll(userId);
      parts.accessTokens.revoke(userId);
    },
    changePassword: (userId, passwords, context) => changePassword(parts, userId, passwords, context),
  };
}

const isSetupNeeded = async ({ station }: Parts): Promise<boolean> => (await station.read()).owner_id === null;

async function checkSetupCode(parts: Parts, code: string, address: string): Promise<{ kind: 'right' } | CodeRefused> {
  const { setupCode, firstRun, limiter, logger } = parts;
  if (!(await isSetupNeeded(parts))) return { kind: 'already_done' };
  if (firstRun.isRestoring()) return { kind: 'restoring' };
  const attempt = { account: setupAccount, address, device: null };
  const counted = await countAttempt(parts, attempt);
  if (counted.kind === 'limited') return counted;
  if (!(await setupCode.matches(code))) {
    logger.event('login_failed', { address, reason: 'wrong set-up code' });
    return { kind: 'wrong_code' };
  }
  await limiter.succeeded(attempt, null);
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
  return session === null ? { kind: 'already_done' } : openedSession(parts, { user, session, client }, since);
}

async function logIn(
  parts: Parts,
  { email, password }: { email: string; password: string },
  client: Client,
): Promise<LoginResult> {
  const { users, sessions, accessTokens, passwords, limiter, clock, logger } = parts;
  const { address, device } = client;
  const attempt = { account: normalEmail(email), address, device };
  const counted = await countAttempt(parts, attempt);
  if (counted.kind === 'limited') return counted;
  const since = accessTokens.moment();
  const user = await users.findByEmail(email);
  const hash = user?.station_password_hash ?? null;
  const matches = await passwords.matches(password, hash, counted);
  const session = user !== null && hash !== null && matches ? await sessions.open(user.id, hash, client) : null;
  // Told only to those who know the password.
  if (matches && user?.ends_at != null && user.ends_at <= clock.now()) {
    await limiter.succeeded(attempt, user.id);
    return { kind: 'access_ended' };
  }
  if (user === null || session === null) {
    logger.event('login_failed', { address, reason: 'wrong address or password' });
    return { kind: 'wrong_credentials' };
  }
  await limiter.succeeded(attempt, user.id);
  if (hash !== null && isBcrypt(hash)) await sessions.renewHash(user.id, hash, await passwords.hash(password));
  return openedSession(parts, { user, session, client }, since);
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
  return user === null ? { kind: 'ended' } : openedSession(parts, { user, session: rotation, client }, since);
}

async function changePassword(
  parts: Parts,
  userId: string,
  { current, next }: NewPassword,
  { client, refreshToken }: RequestContext,
): Promise<PasswordResult> {
  const { sessions, accessTokens, passwords } = parts;
  const checked = await checkPassword(parts, userId, current, client);
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
  { address, device }: Client,
): Promise<{ kind: 'right'; user: UserRow; hash: string } | Limited | { kind: 'wrong_password' }> {
  const { users, passwords, limiter } = parts;
  const user = await users.findById(userId);
  const attempt = { account: user?.email ?? userId, address, device };
  const counted = await countAttempt(parts, attempt);
  if (counted.kind === 'limited') return counted;
  const hash = user?.station_password_hash ?? null;
  const matches = await passwords.matches(password, hash, counted);
  if (user === null || hash === null || !matches) return { kind: 'wrong_password' };
  await limiter.succeeded(attempt, userId);
  return { kind: 'right', user, hash };
}

/** Counts an attempt, and refuses it when there were too many. `isKnown`: see `LoginLimiter`. */
export async function countAttempt(
  { limiter, logger }: Pick<Parts, 'limiter' | 'logger'>,
  attempt: Attempt,
): Promise<Limited | { kind: 'allowed'; isKnown: boolean }> {
  const decision = await limiter.attempt(attempt);
  if (decision.allowed) return { kind: 'allowed', isKnown: decision.isKnown };
  const retryAfterSeconds = Math.ceil(decision.retryAfterMs / 1000);
  logger.event('login_limited', { address: attempt.address, retryAfterSeconds });
  return { kind: 'limited', retryAfterMs: decision.retryAfterMs };
}

type NewSession = { user: UserRow; session: { id: string; token: string; expiresAt: number }; client: Client };

export async function openedSession(
  { accessTokens, memory, clock }: Pick<Parts, 'accessTokens' | 'memory' | 'clock'>,
  { user, session, client }: NewSession,
  since: number,
): Promise<OpenedSession> {
  const { id: sessionId } = session;
  const access = await accessTokens.issue({ userId: user.id, role: user.role, endsAt: user.ends_at, sessionId }, since);
  // A cookie that nobody logged in with may be somebody else's.
  const { device } = client;
  const isOurs = device !== null && (await memory.isKnownDevice(null, hashToken(device)));
  const deviceToken = isOurs ? device : newToken();
  await memory.rememberDevice(user.id, { tokenHash: hashToken(deviceToken), sessionId }, clock.now());
  return {
    kind: 'opened',
    user,
    accessToken: access.token,
    accessExpiresAt: access.expiresAt,
    refreshToken: session.token,
    refreshExpiresAt: session.expiresAt,
    deviceToken,
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
