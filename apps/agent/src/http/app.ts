import type { App } from './routes.ts';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { discardUnreadBody, errorBody, MethodNotAllowedError, toErrorResponse } from '@station/kit/http-errors';
import type { AgentLogger } from '@station/kit/logger';
import { describeError, StationError } from '@station/kit/station-error';
import { createValidatorCompiler } from '@station/kit/validation';
import type { Guard } from './guard.ts';
import { addRoutes, shuttingDown, type RouteParts } from './routes.ts';

type AppParts = RouteParts & { logger: AgentLogger; guard: Guard };

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
    if (allowed) throw new MethodNotAllowedError([...allowed]);
    throw new StationError('not_found', 'There is nothing at this address.');
  });
  app.setErrorHandler((error, request, reply) => {
    const answer = toErrorResponse(error);
    if (answer.isFault) {
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

const bodyLimitBytes = 256 * 1024;
/** Time for a whole request to arrive; a response may take as long as an update. */
const requestTimeoutMs = 30_000;

/** Fastify as the agent uses it: TypeBox schemas, JSON bodies only, and its own errors in the shape of the contract. */
function createFastify(): App {
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    return503OnClosing: false,
    logger: false,
    frameworkErrors: (error: unknown, _request: FastifyRequest, reply: FastifyReply) => {
      const { body, headers } = toErrorResponse(error);
      reply.code(body.statusCode).headers(headers).send(body);
    },
    clientErrorHandler: (_error, socket) => {
      if (!socket.writable) return;
      const text = JSON.stringify(errorBody('bad_request', 'The request is not valid HTTP.'));
      const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}`;
      socket.end(`${head}\r\nconnection: close\r\n\r\n${text}`);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.setValidatorCompiler(createValidatorCompiler());
  app.setSerializerCompiler(() => (body) => JSON.stringify(body));
  acceptJsonOnly(app);
  app.addHook('onSend', async (request, reply) => {
    if (reply.statusCode >= 400) await discardUnreadBody(request.raw);
  });
  return app;
}

/** Reads only JSON. An empty body counts as none, even with a content type: some clients always send the header. */
function acceptJsonOnly(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, undefined);
    else void parse(request, body as string, done);
  });
}
