import { describeError, StationError } from '@station/kit/station-error';
import type { AgentLogger } from '@station/kit/logger';
import type { FastifyRequest } from 'fastify';
import { MethodNotAllowed, shuttingDown, toErrorAnswer } from './errors.ts';
import type { Guard } from './guard.ts';
import { createFastify, type App } from './fastify.ts';
import { addRoutes, type RouteParts } from './routes.ts';

export type AppParts = RouteParts & { logger: AgentLogger; guard: Guard };

/** The agent's HTTP API (contracts, section 4), not listening yet. */
export function buildApp(parts: AppParts): App {
  const { logger, guard, stopping } = parts;
  const app = createFastify();
  const methods = collectMethods(app);

  app.addHook('onRequest', async (request) => {
    if (stopping.aborted) throw shuttingDown();
    guard(request);
  });
  app.addHook('onSend', async (_request, reply) => {
    if (stopping.aborted) reply.header('connection', 'close');
  });
  app.setNotFoundHandler((request) => {
    const allowed = methods.get(pathOf(request));
    if (allowed) throw new MethodNotAllowed([...allowed]);
    throw new StationError('not_found', 'There is nothing at this address.');
  });
  app.setErrorHandler((error, request, reply) => {
    const answer = toErrorAnswer(error);
    if (answer.isSurprise) {
      logger.event('unexpected_error', {
        where: `http ${request.method} ${pathOf(request)}`,
        message: describeError(error),
      });
    }
    return reply.code(answer.body.statusCode).headers(answer.headers).send(answer.body);
  });
  addRoutes(app, parts);
  return app;
}

function collectMethods(app: App): Map<string, Set<string>> {
  const methods = new Map<string, Set<string>>();
  app.addHook('onRoute', (route) => {
    const known = methods.get(route.url) ?? new Set();
    for (const method of [route.method].flat()) known.add(method);
    methods.set(route.url, known);
  });
  return methods;
}

const pathOf = (request: FastifyRequest): string => request.url.split('?', 1)[0] ?? '';
