import { randomUUID } from 'node:crypto';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifyServerOptions,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { errorBody, toErrorResponse } from '@station/kit/http-errors';
import type { BackendLogger } from '@station/kit/logger';
import { describeError, StationError } from '@station/kit/station-error';
import { createValidatorCompiler } from '@station/kit/validator-compiler';
import { after } from '@station/kit/timers';
import { storageError } from '../core/storage-faults.ts';
import { findUnstorable } from '../core/storable-text.ts';
import { openFastify } from './adapters/fastify-app.ts';
import { boundArrivingBodies } from './arriving-bodies.ts';
import { endStalledReaders } from './stalled-readers.ts';

export type HttpServer = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Contracts, section 0. */
const bodyLimitBytes = 256 * 1024;
/** A whole request must have arrived by then. */
const requestTimeoutMs = 30_000;
/** Contracts, section 15a. Node looks for connections that are too slow at the interval; its default of 30 s would double the limits. */
const headerLimits = {
  maxHeaderSize: 8192,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
};
/** Only the reverse proxy beside us may say where a request came from; it is on loopback or a private network. */
const trustedProxies = ['loopback', 'linklocal', 'uniquelocal'];

/** Passed to the constructor: otherwise Fastify loads its own compilers, even if they are replaced immediately. */
export const compilersFactory = {
  // Fastify's types only know the compilers of Ajv.
  buildValidator: (() =>
    createValidatorCompiler({
      // A larger one may be another number than the one that was sent (RFC 8259, section 6).
      findUnstorable: (value) => findUnstorable(value, Number.MAX_SAFE_INTEGER),
    })) as never,
  // Sends only what the schema declares: a new table column does not appear in answers.
  buildSerializer:
    () =>
    ({ schema }: { schema?: unknown }) =>
    (data: unknown): string =>
      JSON.stringify(Value.Clean(schema as TSchema, data)),
};

const apiHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/**
 * The HTTP server without routes: limits, one error format, validation and answers by TypeBox schemas, request ids and the request log.
 */
export function createHttpServer({ logger }: { logger: BackendLogger }): HttpServer {
  const app = openFastify({
    bodyLimit: bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    http: headerLimits,
    trustProxy: trustedProxies,
    genReqId: () => randomUUID(),
    // A HEAD route beside a GET one is not checked for a token; only public routes ask for one.
    exposeHeadRoutes: false,
    // While stopping, requests on open connections are still answered, so that an update fails none.
    return503OnClosing: false,
    schemaController: { compilersFactory },
    frameworkErrors: (error, _request, reply) => void sendError(error, reply),
    clientErrorHandler: answerUnreadable,
  });

  // Asked for at once, and kept by Node: of a client that has reset its connection the system tells no address any more.
  app.server.on('connection', (socket) => {
    if (socket.remoteAddress === undefined) socket.destroy();
  });

  // The server only reads JSON bodies.
  app.removeContentTypeParser('text/plain');
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const text = decodedBody(body as Buffer);
    if (text === null) done(new StationError('bad_request', 'The body is not UTF-8.'));
    else void parseJson(request, text, done);
  });

  // Who asks; the access rules find it out.
  app.decorateRequest('user', null);
  app.decorateRequest('deviceId', null);
  app.decorateRequest('sight', null);

  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...apiHeaders, 'x-request-id': request.id });
  });
  app.addHook('onSend', async (request, reply) => {
    if (asksForUpgrade(request)) void reply.header('connection', 'close');
  });
  endStalledReaders(app);
  app.addHook('onResponse', async (request, reply) => {
    logger.event('request', {
      ...named(request),
      statusCode: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime),
    });
    // Node no longer closes a connection that asked for an upgrade; a refused one would stay open and block the stop.
    if (asksForUpgrade(request) && reply.raw.headersSent) request.raw.socket.destroySoon();
  });
  boundArrivingBodies(app);
  app.setErrorHandler((error, request, reply) => {
    if (sendError(error, reply)) {
      const stack = error instanceof Error ? (error.stack ?? null) : null;
      logger.event('request_failed', { ...named(request), message: describeError(error), stack });
    }
    return reply;
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(errorBody('not_found', 'There is nothing here.')));
  return app;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Null: not UTF-8. Another character would stand for what was meant, also in a password. */
function decodedBody(body: Buffer): string | null {
  try {
    return utf8.decode(body);
  } catch {
    return null;
  }
}

const asksForUpgrade = ({ headers }: FastifyRequest): boolean => headers.upgrade !== undefined;

/** The id of an upload or a download link is the permission to use it: 256 bits, base64url. */
const tokenInUrl = /(?<=[/=])[\w-]{43}(?=[/?&]|$)/g;

const named = (request: FastifyRequest): { requestId: string; method: string; url: string } => ({
  requestId: request.id,
  method: request.method,
  url: request.url.slice(0, 500).replaceAll(tokenInUrl, '[redacted]'),
});

function sendError(error: unknown, reply: FastifyReply): boolean {
  const { body, headers, isFault } = toErrorResponse(storageError(error) ?? error);
  // A route's own serializers are for its answers, not for errors.
  reply.serializer(JSON.stringify).code(body.statusCode).headers(headers);
  void reply.type('application/json; charset=utf-8').send(body);
  return isFault;
}

type ClientSocket = Parameters<NonNullable<FastifyServerOptions['clientErrorHandler']>>[1];

/** Bytes that are not an HTTP request never reach a route. */
function answerUnreadable(error: Error & { code?: string }, socket: ClientSocket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(errorBody('bad_request', 'The request could not be read.'));
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Length: ${Buffer.byteLength(body)}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** How long current requests may still take when the backend stops; the whole stop must end within 5 s. */
const drainMs = 3_000;

/** Aborts when the server begins to close: endless streams would block it. Answers then close their connections. */
export function closingSignal(app: HttpServer): AbortSignal {
  const controller = new AbortController();
  app.addHook('preClose', async () => controller.abort());
  app.addHook('onSend', async (_request, reply) => {
    // Otherwise the connection of the last request would keep the server open.
    if (controller.signal.aborted) void reply.header('connection', 'close');
  });
  return controller.signal;
}

/** Stops listening, and answers current requests within the time limit. */
export async function closeInTime(app: HttpServer): Promise<void> {
  using _late = after(drainMs, () => app.server.closeAllConnections());
  await app.close();
}
