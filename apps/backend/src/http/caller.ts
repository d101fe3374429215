import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { StationError } from '@station/kit/station-error';
import { type Role, roles } from '@station/protocol/roles';
import type { AccessTokens } from '../core/access-tokens.ts';
import { hashToken } from '../core/secrets.ts';
import type { FindSight } from '../core/sight.ts';
import type { StationStore } from '../store/station-store.ts';

/** The person behind a request. */
export type RequestUser = { userId: string; role: Role };

/** Runs before a route; throws to refuse. */
export type RequestHook = (request: FastifyRequest) => Promise<void>;

/** 401 with the challenge of RFC 6750. */
export function unauthorized(message: string): StationError {
  return new StationError('unauthorized', message);
}

/** The token of `Authorization: Bearer <token>`; null when there is none of that form. */
function bearerToken(request: FastifyRequest): string | null {
  return /^Bearer ([^\s]+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null;
}

/**
 * Sets `request.user` from `Authorization: Bearer <jwt>` (specification, "Backend hooks", 1). The token must verify and contain `userId`
 * and `role`; else 401. OPTIONS and HEAD pass unchecked, which is why `enforceAccess` allows them on public routes only.
 */
export function createVerifyToken(tokens: AccessTokens): RequestHook {
  return async function verifyToken(request) {
    if (request.method === 'OPTIONS' || request.method === 'HEAD') return;
    const token = bearerToken(request);
    const claims = token === null ? null : await tokens.verify(token);
    if (claims === null) throw unauthorized('Log in: the access token is missing, not valid or expired.');
    request.user = claims;
  };
}

/** 403 unless the user's global role is one of `roles` (specification, "Backend hooks", 2). Runs after verifyToken. */
export function authorize(roles: readonly Role[]): RequestHook {
  return async function authorizeRole(request) {
    if (request.user !== null && roles.includes(request.user.role)) return;
    throw new StationError('forbidden', `This needs the role ${roles.join(' or ')}.`);
  };
}

/**
 * Makes a hook that admits users down to this rank, and finds out what those see whom it admits below a member: `request.sight`. 403 for
 * others. Runs after verifyToken.
 */
export function createAdmit(findSight: FindSight): (lowest: Role) => RequestHook {
  return (lowest) =>
    async function admit(request) {
      const { user } = request;
      if (user === null || roles.indexOf(user.role) > roles.indexOf(lowest))
        throw new StationError('forbidden', 'Your access does not include this.');
      if (lowest !== 'member') request.sight = await findSight(user);
    };
}

/**
 * Makes a hook that checks the user's role in the station's records (specification, "Backend hooks", 3): the owner has the role owner,
 * others the role of station_members. It answers 403 to others, or when the role is too low. With `orFormerOwner`, the user who was the
 * owner before the cloud named another also passes. Runs after verifyToken.
 */
export function createRequireStationRole(
  station: Pick<StationStore, 'roleOf' | 'wasOwner'>,
): (role: Role, orFormerOwner: boolean) => RequestHook {
  return (role, orFormerOwner) =>
    async function requireStationRole(request) {
      const own = request.user === null ? null : await station.roleOf(request.user.userId);
      // `roles` is ordered by rank, the owner first.
      if (own !== null && roles.indexOf(own) <= roles.indexOf(role)) return;
      if (orFormerOwner && request.user !== null && (await station.wasOwner(request.user.userId))) return;
      throw new StationError('forbidden', `This needs the role ${role} on this station.`);
    };
}

/** @returns id of the device whose token has this hash (SHA-256, hex); null when there is none. */
type FindDeviceByTokenHash = (tokenHash: string) => Promise<string | null>;

/**
 * Sets `request.deviceId` from the header `X-Device-Token`, or `Device-Token` when that is not there or empty (specification, "Backend hooks", 4);
 * else 401. The database compares hashes of 256-bit random tokens, so its timing reveals nothing about a token.
 */
export function createVerifyDeviceToken(findDevice: FindDeviceByTokenHash): RequestHook {
  return async function verifyDeviceToken(request) {
    const tokens = [request.headers['x-device-token'], request.headers['device-token']];
    const token = tokens.find((one) => typeof one === 'string' && one !== '');
    const deviceId = typeof token === 'string' ? await findDevice(hashToken(token)) : null;
    if (deviceId === null) throw unauthorized('The device token is missing or not known.');
    request.deviceId = deviceId;
  };
}

/**
 * Compares `Authorization: Bearer <token>` with AGENT_TOKEN (specification, "Backend hooks", 5), in constant time; else 401. With no
 * AGENT_TOKEN the routes of the agent are closed.
 */
export function createVerifyAgentToken(agentToken: string | null): RequestHook {
  return async function verifyAgentToken(request) {
    if (agentToken !== null && hasToken(request, agentToken)) return;
    throw unauthorized('The agent token is missing or not right.');
  };
}

/** Compares `Authorization: Bearer <token>` with METRICS_TOKEN, in constant time; else 401. Without METRICS_TOKEN: 404. */
export function createVerifyMetricsToken(metricsToken: string | null): RequestHook {
  return async function verifyMetricsToken(request) {
    if (metricsToken === null) throw new StationError('not_found', 'METRICS_TOKEN is not set.');
    if (!hasToken(request, metricsToken)) throw unauthorized('The token for metrics is missing or not right.');
  };
}

function hasToken(request: FastifyRequest, expected: string): boolean {
  const token = bearerToken(request);
  // Hashes have equal length, which timingSafeEqual requires.
  return token !== null && timingSafeEqual(Buffer.from(hashToken(token)), Buffer.from(hashToken(expected)));
}
