import type { FastifyRequest } from 'fastify';
import { StationError } from '@station/kit/station-error';

/**
 * Whether a request comes from a page of this station. Browsers send `Origin` with every WebSocket and every POST; programs that are not
 * browsers send none, and carry no cookie of a browser either.
 */
function isOwnOrigin(request: FastifyRequest['raw']): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined) return true;
  // Compared by host and port alone: TLS may end at a proxy before us.
  return host !== undefined && URL.parse(origin)?.host === host;
}

/** 403 for a request that a page of another site makes with the cookies of this one. */
export async function refuseForeignOrigin(request: FastifyRequest): Promise<void> {
  if (isOwnOrigin(request.raw)) return;
  throw new StationError('origin_not_allowed', 'This can only be asked for by the pages of this station.');
}
