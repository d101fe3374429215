import type { FastifyRequest } from 'fastify';
import type { Role } from '@station/protocol/rest';
import { StationError } from '@station/kit/station-error';

/** The person behind a request. */
export type RequestUser = { userId: string; role: Role };

/** Runs before a route; throws to refuse. */
export type RequestHook = (request: FastifyRequest) => Promise<void>;

/** 401 with the challenge of RFC 6750. */
export function unauthorized(message: string): StationError {
  return new StationError('unauthorized', message);
}

/** The token of `Authorization: Bearer <token>`; null when there is none of that form. */
export function bearerToken(request: FastifyRequest): string | null {
  return /^Bearer ([^\s]+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null;
}
