import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { describeError, StationError } from '@station/kit/station-error';
import type { Clock } from '@station/kit/clock';
import type { Report } from '@station/kit/report';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { MethodNotAllowed, shuttingDown, toErrorAnswer } from './errors.ts';
import type { EventStreams } from './event-stream.ts';
import type { Guard } from './guard.ts';
import type { Metrics } from './metrics.ts';
import type { AgentPort } from './port.ts';
import { addRoutes } from './routes.ts';
import { validatorCompiler } from './validation.ts';

export type AppParts = {
  port: AgentPort;
  report: Report;
  clock: Clock;
  agentVersion: string;
  /** Monotonic milliseconds. */
  startedMs: number;
  guard: Guard;
  streams: EventStreams;
  metrics: Metrics;
  /** Aborted when the agent is to end: whoever waits is answered then. */
  stopping: AbortSignal;
};

export type App = ReturnType<typeof createFastify>;

const bodyLimitBytes = 256 * 1024;
/** Time for a request to arrive as a whole; an answer may take as long as an update. */
const requestTimeoutMs = 30_000;

/** The agent's HTTP API (contracts, section 4), not listening yet. */
export function buildApp(parts: AppParts): App {
  const { report, guard, stopping } = parts;
  const app = createFastify();
  const methods = collectMethods(app);
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(() => (body) => JSON.stringify(body));
  acceptJsonOnly(app);

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
      report.event('unexpected_error', {
        where: `http ${request.method} ${pathOf(request)}`,
        message: describeError(error),
      });
    }
    return reply.code(answer.body.statusCode).headers(answer.headers).send(answer.body);
  });
  addRoutes(app, parts);
  return app;
}

function createFastify() {
  return fastify({
    bodyLimit: bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    return503OnClosing: false,
    logger: false,
    frameworkErrors: (error: unknown, _request: FastifyRequest, reply: FastifyReply) => {
      const { body, headers } = toErrorAnswer(error);
      reply.code(body.statusCode).headers(headers).send(body);
    },
    clientErrorHandler: (_error, socket) => {
      if (!socket.writable) return;
      const { body } = toErrorAnswer(new StationError('bad_request', 'The request is not HTTP as the agent reads it.'));
      const text = JSON.stringify(body);
      const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}`;
      socket.end(`${head}\r\nconnection: close\r\n\r\n${text}`);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
}

/** Only JSON is read. A body of no bytes is none, whatever it says it is: clients send the header out of habit. */
function acceptJsonOnly(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, undefined);
    else void parse(request, body as string, done);
  });
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
