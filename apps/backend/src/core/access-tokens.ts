import { jwtVerify, SignJWT } from 'jose';
import { roles, type Role } from '@station/protocol/rest';
import type { Clock } from '@station/kit/clock';
import { createEmitter } from '@station/kit/emitter';

export type AccessClaims = {
  userId: string;
  role: Role;
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
  issue(user: { id: string; role: Role }, since: number): Promise<{ token: string; expiresAt: number }>;
  /** Null unless this station issued the token and it is valid now. */
  verify(token: string): Promise<AccessClaims | null>;
  /** Whether these verified claims are still not revoked. */
  holds(claims: AccessClaims): boolean;
  /** Ends every token issued to this user until now: their role changed, or they were removed. */
  revoke(userId: string): void;
  /** Applies a revocation that another replica made at that time. */
  takeOver(userId: string, at: number): void;
  /** Calls `listener` with each user that is revoked, until disposed. */
  onRevoke(listener: RevokeListener): Disposable;
};

/** `at` in milliseconds since the epoch; `isOurs`: revoked here, not taken over. */
type RevokeListener = (userId: string, revocation: { at: number; isOurs: boolean }) => void;

export const accessTokenLifetimeMs = 15 * 60 * 1000;
const toleranceSeconds = 5;

/**
 * Access tokens: JWT, HS256, 15 minutes, with `userId` and `role` (contracts, section 9).
 *
 * Revocations are kept in memory for the lifetime of a token. After a restart a revoked token stays valid until its 15 minutes end.
 * Its session was deleted from the database, so it cannot be renewed.
 */
export function createAccessTokens(options: { secret: string; clock: Clock }): AccessTokens {
  const { clock } = options;
  const key = new TextEncoder().encode(options.secret);
  const revokedAt = new Map<string, number>();
  const revocations = createEmitter<Parameters<RevokeListener>>();
  /** Of the last revocation of anyone. */
  let newest = -1;

  const moment = (): number => Math.max(clock.now(), newest + 1);
  const isRevoked = (userId: string, issuedAtMs: number): boolean => issuedAtMs <= (revokedAt.get(userId) ?? -1);

  const revoke = (userId: string, at: number, isOurs: boolean): void => {
    const oldest = clock.now() - accessTokenLifetimeMs - toleranceSeconds * 1000;
    for (const [id, revoked] of revokedAt) if (revoked < oldest) revokedAt.delete(id);
    revokedAt.set(userId, at);
    newest = Math.max(newest, at);
    revocations.emit([userId, { at, isOurs }]);
  };

  return {
    moment,
    issue: async ({ id, role }, since) => {
      const expiresAt = clock.now() + accessTokenLifetimeMs;
      // NumericDate may have a fraction (RFC 7519, section 2): it orders a new token after a revocation in the same second.
      const claims = { userId: id, role, iat: since / 1000, exp: expiresAt / 1000 };
      return { token: await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(key), expiresAt };
    },
    verify: async (token) => {
      const payload = await verifiedPayload(token, key, clock.now());
      if (payload === null) return null;
      const { userId, iat, exp } = payload;
      const role = roles.find((known) => known === payload['role']);
      if (typeof userId !== 'string' || userId === '' || role === undefined) return null;
      const issuedAt = Math.round((iat ?? 0) * 1000);
      // Issued while the clock was ahead: it would be valid for years.
      if (issuedAt > moment() + toleranceSeconds * 1000) return null;
      if (isRevoked(userId, issuedAt)) return null;
      const expiresAt = exp === undefined ? clock.now() + accessTokenLifetimeMs : exp * 1000;
      return { userId, role, issuedAt, expiresAt };
    },
    holds: ({ userId, issuedAt }) => !isRevoked(userId, issuedAt),
    revoke: (userId) => revoke(userId, moment(), true),
    takeOver: (userId, at) => {
      if (at > (revokedAt.get(userId) ?? -1)) revoke(userId, at, false);
    },
    onRevoke: (listener) => revocations.subscribe((revocation) => listener(...revocation)),
  };
}

async function verifiedPayload(
  token: string,
  key: Uint8Array,
  nowMs: number,
): Promise<({ iat?: number; exp?: number } & Record<string, unknown>) | null> {
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
