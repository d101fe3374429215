import { randomUUIDv7 } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { alphabet, codeOf, isSameCode, newCode, stationCodeGroups as groups } from '@station/kit/codes';
import { type Disk, readText, removeDurable, writeDurable } from '@station/kit/durable-files';
import type { BackendLogger } from '@station/kit/logger';
import type { SetupRequest } from '@station/protocol/rest';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { Database } from '../store/schema.ts';
import {
  claimOwnership,
  insertUser,
  normalEmail,
  type StationStore,
  type UserRow,
  type UserStore,
} from '../store/station-store.ts';
import type { LoginLimiter } from './login-limiter.ts';
import type { Passwords } from './passwords.ts';
import type { Sessions } from './sessions.ts';

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
type LoginResult = OpenedSession | Limited | { kind: 'wrong_credentials' };
type RefreshResult = OpenedSession | { kind: 'ended' };
type PasswordResult = { kind: 'changed' } | Limited | { kind: 'wrong_password' };

export type AuthService = {
  isSetupNeeded(): Promise<boolean>;
  /** The set-up code, for what is done before there is an owner. Attempts are counted as those of `setup`. */
  checkSetupCode(code: string, address: string): Promise<{ kind: 'right' } | CodeRefused>;
  setup(request: SetupRequest, address: string): Promise<SetupResult>;
  login(email: string, password: string, address: string): Promise<LoginResult>;
  refresh(refreshToken: string): Promise<RefreshResult>;
  logout(refreshToken: string): Promise<void>;
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
    setup: (request, address) => setUp(parts, request, address),
    login: (email, password, address) => logIn(parts, { email, password, address }),
    refresh: (refreshToken) => refresh(parts, refreshToken),
    logout: (refreshToken) => parts.sessions.end(refreshToken),
    changePassword: (userId, passwords, context) => changePassword(parts, userId, passwords, context),
  };
}

/** All share one set-up code; its attempts are counted under this account name. */
const setupAccount = '(setup)';

const isSetupNeeded = async ({ station }: Parts): Promise<boolean> => (await station.read()).owner_id === null;

async function checkSetupCode(parts: Parts, code: string, address: string): Promise<{ kind: 'right' } | CodeRefused> {
  const { setupCode, limiter, logger } = parts;
  if (!(await isSetupNeeded(parts))) return { kind: 'already_done' };
  const limit = countAttempt(parts, setupAccount, address);
  if (limit !== null) return limit;
  if (!(await setupCode.matches(code))) {
    logger.event('login_failed', { address, reason: 'wrong set-up code' });
    return { kind: 'wrong_code' };
  }
  limiter.succeeded(setupAccount, address);
  return { kind: 'right' };
}

async function setUp(parts: Parts, request: SetupRequest, address: string): Promise<SetupResult> {
  const { db, sessions, accessTokens, passwords, setupCode, clock, logger } = parts;
  const code = await checkSetupCode(parts, request.code, address);
  if (code.kind !== 'right') return code;
  const passwordHash = await passwords.hash(request.password);
  const since = accessTokens.moment();
  const user = await createOwner(db, request, passwordHash, clock.now());
  if (user === null) return { kind: 'already_done' };
  await setupCode.remove();
  logger.event('setup_done', { userId: user.id });
  const session = await sessions.open(user.id, passwordHash);
  return session === null ? { kind: 'already_done' } : openedSession(parts, user, session, since);
}

async function logIn(
  parts: Parts,
  { email, password, address }: { email: string; password: string; address: string },
): Promise<LoginResult> {
  const { users, sessions, accessTokens, passwords, limiter, logger } = parts;
  const account = normalEmail(email);
  const limit = countAttempt(parts, account, address);
  if (limit !== null) return limit;
  const since = accessTokens.moment();
  const user = await users.findByEmail(account);
  const hash = user?.station_password_hash ?? null;
  const matches = await passwords.matches(password, hash);
  const session = user !== null && hash !== null && matches ? await sessions.open(user.id, hash) : null;
  if (user === null || session === null) {
    logger.event('login_failed', { address, reason: 'wrong address or password' });
    return { kind: 'wrong_credentials' };
  }
  limiter.succeeded(account, address);
  return openedSession(parts, user, session, since);
}

async function refresh(parts: Parts, refreshToken: string): Promise<RefreshResult> {
  const { users, sessions, accessTokens, logger } = parts;
  const since = accessTokens.moment();
  const rotation = await sessions.rotate(refreshToken);
  if (rotation.kind === 'reused') {
    logger.event('refresh_token_reused', { userId: rotation.userId, sessionId: rotation.sessionId });
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
  const { users, sessions, accessTokens, passwords, limiter } = parts;
  const user = await users.findById(userId);
  const account = user?.email ?? userId;
  const limit = countAttempt(parts, account, address);
  if (limit !== null) return limit;
  const hash = user?.station_password_hash ?? null;
  const matches = await passwords.matches(current, hash);
  if (hash === null || !matches) return { kind: 'wrong_password' };
  limiter.succeeded(account, address);
  const options = { replaced: hash, exceptToken: refreshToken };
  // False when another request changed the password meanwhile.
  if (!(await sessions.replacePassword(userId, await passwords.hash(next), options))) return { kind: 'wrong_password' };
  // A thief of the old password may hold an access token. The page of this request renews its own through its session.
  accessTokens.revoke(userId);
  return { kind: 'changed' };
}

/** Counts an attempt. @returns the refusal when there were too many, else null. */
function countAttempt({ limiter, logger }: Parts, account: string, address: string): Limited | null {
  const decision = limiter.attempt(account, address);
  if (decision.allowed) return null;
  logger.event('login_limited', { address, retryAfterSeconds: Math.ceil(decision.retryAfterMs / 1000) });
  return { kind: 'limited', retryAfterMs: decision.retryAfterMs };
}

async function openedSession(
  { accessTokens }: Parts,
  user: UserRow,
  refreshToken: { token: string; expiresAt: number },
  since: number,
): Promise<OpenedSession> {
  const access = await accessTokens.issue(user, since);
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
  const { email, name, stationName } = request;
  try {
    return await db.transaction().execute(async (transaction) => {
      const inserted = await insertUser(transaction, { id, email, name, role: 'owner', passwordHash, createdAt: now });
      if (!inserted || !(await claimOwnership(transaction, { userId: id, stationName }))) throw new OwnedAlready();
      return transaction.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    });
  } catch (error) {
    if (error instanceof OwnedAlready) return null;
    throw error;
  }
}

/** Rolls the transaction back. */
class OwnedAlready extends Error {}

export type SetupCode = {
  /** STATION_CODE, or a code that is created at the first call and kept in the file until set-up is done. */
  read(): Promise<string>;
  /** Case, spaces and dashes do not matter. */
  matches(given: string): Promise<boolean>;
  /** Set-up is done. */
  remove(): Promise<void>;
};

/** The code proves physical access to the station: it is on the console, and the agent can read the file. */
export function createSetupCode(options: {
  disk: Disk;
  path: string;
  /** STATION_CODE, which takes precedence; null: a code is generated. */
  stationCode: string | null;
  /** Random bytes from which several backends derive the same code; without it a backend creates its own. */
  seed?: Buffer | undefined;
}): SetupCode {
  const { disk, path, stationCode, seed } = options;
  const read = async (): Promise<string> => {
    if (stationCode !== null) return stationCode;
    const kept = (await readText(disk, path))?.trim();
    const shared = seed && codeOf(groups, (index) => seed.readUInt16BE(2 * index) % alphabet.length);
    if (kept !== undefined && kept !== '' && (shared === undefined || kept === shared)) return kept;
    const code = shared ?? newCode(groups);
    await writeDurable(disk, path, `${code}\n`);
    return code;
  };
  return {
    read,
    matches: async (given) => isSameCode(given, await read()),
    remove: () => removeDurable(disk, path),
  };
}
