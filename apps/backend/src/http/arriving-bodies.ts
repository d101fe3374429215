import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Caller, boundRequests, strangerBodyBytes } from '@station/kit/bounded-requests';
import { createByteBudget } from '@station/kit/byte-budget';
import { StationError } from '@station/kit/station-error';
import { networkOf } from '../core/client-network.ts';

/** Of connections and of bodies that arrive or are worked on. The container has 384 MiB, and a parsed body takes more than its bytes. */
const budgetBytes = { all: 16 * 1024 * 1024, client: 4 * 1024 * 1024 } as const;

/**
 * Bounds what arrives. A body is read when the caller's permission is known from the headers alone, the address exists, and there is
 * room for it; one without a permission has at most 4 KiB.
 */
export function boundArrivingBodies(app: FastifyInstance): void {
  const requests = boundRequests(app.server, createByteBudget(budgetBytes));
  // A WebSocket is counted where it waits for its log-in.
  app.server.on('upgrade', (_request, socket) => requests.release(socket));
  // After the access rule of the route, which is a hook of onRequest.
  app.addHook('preParsing', async (request, reply) => {
    if (request.is404) throw new StationError('not_found', 'There is nothing here.');
    requests.admit(request.raw, reply.raw, callerOf(request), request.routeOptions.bodyLimit);
  });
  app.addHook('onSend', async (request, reply) => {
    if (reply.statusCode >= 400) await requests.discard(request.raw, reply.raw);
  });
}

function callerOf(request: FastifyRequest): Caller {
  const { user, deviceId, routeOptions } = request;
  if (user !== null) return { client: `user ${user.userId}`, isStranger: false };
  if (deviceId !== null) return { client: `device ${deviceId}`, isStranger: false };
  const isPublic = routeOptions.config.access === 'public';
  if (!isPublic) return { client: 'agent', isStranger: false };
  // A public route that takes more has its permission in the path: an upload.
  return { client: networkOf(request.ip), isStranger: routeOptions.bodyLimit <= strangerBodyBytes };
}
