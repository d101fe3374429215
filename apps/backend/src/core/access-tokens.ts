import { jwtVerify, SignJWT } from 'jose';
import { roles, type Role } from '@station/protocol/roles';
import type { Clock } from '@station/kit/clock';
import { createEmitter } from '@station/kit/emitter';

export type AccessClaims = {
  userId: string;
  role: Role;
  /** Null in a token that another program with the same secret has signed without one. */
  sessionId: string | null;
  /** Milliseconds since the epoch, as `expiresAt`. */
  issuedAt: number;
  expiresAt: number;
};

export type AccessTokens = {
  /**
   * Now, in milliseconds since the epoch, but always later than the last revocation. So the order holds when the clock is set back,
   * and within one millisecond.
   */
  moment(): number;
  /** @param since `moment()` before the login was checked: a revocation during the check also ends this token. */
  issue(holder: SessionHolder, since: number): Promise<{ token: string; expiresAt: number }>;
  /** Null unless this station issued the token and it is valid now. */
  verify(token: string): Promise<AccessClaims | null>;
  /** Whether these verified claims are still not revoked. */
  holds(claims: AccessClaims): boolean;
  /**
   * Ends every token issued until now to a user (their role changed, they were removed) or in a session (somebody logged out).
   * @param id of the user or of the session.
   */
  revoke(id: string): void;
  /** Applies a revocation that another replica made at that time. */
  takeOver(id: string, at: number): void;
  /** Calls `listener` with the id of each user and session that is revoked, until disposed. */
  onRevoke(listener: RevokeListener): Disposable;
};

/** Whom a token is issued to. `endsAt`: the end of a guest, milliseconds since the epoch; null for all others. */
export type SessionHolder = { userId: string; role: Role; sessionId: string; endsAt: number | null };

/** `at` in milliseconds since the epoch; `isOurs`: revoked here, not taken over. */
type RevokeListener = (id: string, revocation: { at: number; isOurs: boolean }) => void;

/** The user of a session that has not ended, as the database has them now; null when there is none. */
export type FindHolder = (sessionId: string) => Promise<Omit<SessionHolder, 'sessionId'> | null>;

export const accessTokenLifetimeMs = 15 * 60 * 1000;
const toleranceSeconds = 5;

/**
 * Access tokens: JWT, HS256, 15 minutes or until the end of a guest, with `userId`, `role` and `sid`, the session (contracts, sections 9 and 15).
 * A program that has the secret may sign one without `sid`; it ends with its time or its user.
 *
 * Revocations are kept in memory for the lifetime of a token. A session or role that this process has not seen yet, for instance after a
 * restart, is looked up once: the database knows which sessions have ended.
 */
export function createAccessTokens(options: { secret: string; clock: Clock; findHolder: FindHolder }): AccessTokens {
  const { clock, findHolder } = options;
  const key = new TextEncoder().encode(options.secret);
  const revokedAt = new Map<string, number>();
  const revocations = createEmitter<Parameters<RevokeListener>>();
  /** Of the last revocation of anyone. */
  let newest = -1;

  const moment = (): number => Math.max(clock.now(), newest + 1);
  const isRevoked = ({
    userId,
    sessionId,
    issuedAt,
  }: Pick<AccessClaims, 'userId' | 'sessionId' | 'issuedAt'>): boolean =>
    [userId, sessionId].some((id) => id !== null && issuedAt <= (revokedAt.get(id) ?? -1));
  const seen = createSeenHolders();
  const isKnown = async ({ userId, role, sessionId, expiresAt }: Omit<AccessClaims, 'issuedAt'>): Promise<boolean> => {
    if (sessionId === null) return true;
    let holder = seen.find({ userId, role, sessionId });
    if (holder === undefined) {
      const found = await findHolder(sessionId);
      if (found === null || found.userId !== userId || found.role !== role) return false;
      holder = { ...found, sessionId };
      seen.add(holder);
    }
    // The end was moved since this token was issued, and a restart forgot the revocation.
    return holder.endsAt === null || expiresAt <= holder.endsAt;
  };

  const revoke = (id: string, at: number, isOurs: boolean): void => {
    const oldest = clock.now() - accessTokenLifetimeMs - toleranceSeconds * 1000;
    for (const [other, revoked] of revokedAt) if (revoked < oldest) revokedAt.delete(other);
    revokedAt.set(id, at);
    // Another process may have moved the end of this guest.
    seen.forget(id);
    newest = Math.max(newest, at);
    revocations.emit([id, { at, isOurs }]);
  };

  return {
    moment,
    issue: async (holder, since) => {
      const { userId, role, sessionId, endsAt } = holder;
      const expiresAt = Math.min(clock.now() + accessTokenLifetimeMs, endsAt ?? Infinity);
      seen.add(holder);
      // NumericDate may have a fraction (RFC 7519, section 2): it orders a new token after a revocation in the same second.
      const claims = { userId, role, sid: sessionId, iat: since / 1000, exp: expiresAt / 1000 };
      return { token: await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(key), expiresAt };
    },
    verify: async (token) => {
      const payload = await verifiedPayload(token, key, clock.now());
      if (payload === null) return null;
      const claims = readClaims(payload, clock.now());
      if (claims === null) return null;
      // Issued while the clock was ahead: it would be valid for years.
      if (claims.issuedAt > moment() + toleranceSeconds * 1000) return null;
      // No tolerance: that of a guest ends with their access.
      if (claims.role === 'guest' && claims.expiresAt <= clock.now()) return null;
      // It may be revoked while it is looked up.
      if (isRevoked(claims) || !(await isKnown(claims)) || isRevoked(claims)) return null;
      return claims;
    },
    holds: (claims) => !isRevoked(claims),
    revoke: (id) => revoke(id, moment(), true),
    takeOver: (id, at) => {
      if (at > (revokedAt.get(id) ?? -1)) revoke(id, at, false);
    },
    onRevoke: (listener) => revocations.subscribe((revocation) => listener(...revocation)),
  };
}

const maxSeen = 10_000;

/** Sessions with the role and end that they had when this process last saw them. It forgets the oldest. */
function createSeenHolders() {
  const seen = new Map<string, SessionHolder>();
  const keyOf = ({ userId, role, sessionId }: Omit<SessionHolder, 'endsAt'>): string =>
    `${sessionId} ${userId} ${role}`;
  return {
    find: (holder: Omit<SessionHolder, 'endsAt'>): SessionHolder | undefined => seen.get(keyOf(holder)),
    add: (holder: SessionHolder): void => {
      const [oldest] = seen.keys();
      if (seen.size >= maxSeen && oldest !== undefined) seen.delete(oldest);
      seen.set(keyOf(holder), holder);
    },
    /** @param id of the user or of the session. */
    forget: (id: string): void => {
      for (const [key, { userId, sessionId }] of seen) if (userId === id || sessionId === id) seen.delete(key);
    },
  };
}

type Payload = { iat?: number; exp?: number } & Record<string, unknown>;

function readClaims(payload: Payload, nowMs: number): AccessClaims | null {
  const { userId, sid: sessionId = null, iat, exp } = payload;
  const role = roles.find((known) => known === payload['role']);
  if (typeof userId !== 'string' || role === undefined) return null;
  if (sessionId !== null && typeof sessionId !== 'string') return null;
  const issuedAt = Math.round((iat ?? 0) * 1000);
  const expiresAt = exp === undefined ? nowMs + accessTokenLifetimeMs : Math.round(exp * 1000);
  return { userId, role, sessionId, issuedAt, expiresAt };
}

async function verifiedPayload(token: string, key: Uint8Array, nowMs: number): Promise<Payload | null> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: ['HS256'],
      currentDate: new Date(nowMs),
      clockTolerance: toleranceSeconds,
    });
    return payload;
  } catch {
    // The reason does not matter: a token that does not verify is refused.
    return null;
  }
}
