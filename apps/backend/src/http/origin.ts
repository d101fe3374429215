import type { FastifyRequest } from 'fastify';
import { StationError } from '@station/kit/station-error';

/**
 * Whether a request comes from a page of this station. Browsers send `Origin` with every WebSocket and every POST. Other programs send
 * none, and have no browser cookies.
 */
function isOwnOrigin(request: FastifyRequest['raw']): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined) return true;
  // Compares only host and port: TLS may end at a proxy before the backend.
  return host !== undefined && URL.parse(origin)?.host === host;
}

/** 403 for a request that a page of another site makes with the cookies of this one. */
export async function refuseForeignOrigin(request: FastifyRequest): Promise<void> {
  if (isOwnOrigin(request.raw)) return;
  throw new StationError('origin_not_allowed', 'Only pages of this station may send this request.');
}
