import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { StationError } from '@station/kit/station-error';
import { discardUnreadBody } from '@station/kit/unread-body';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RawServerDefault,
} from 'fastify';
import { toErrorAnswer } from './errors.ts';
import { validatorCompiler } from './validation.ts';

const bodyLimitBytes = 256 * 1024;
/** Time for a request to arrive as a whole; an answer may take as long as an update. */
const requestTimeoutMs = 30_000;

/** Fastify as the agent uses it: TypeBox for its schemas, JSON bodies only, and its own refusals in the shape of the contract. */
export function createFastify(): App {
  const app = fastify({
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
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(() => (body) => JSON.stringify(body));
  acceptJsonOnly(app);
  app.addHook('onSend', async (request, reply) => {
    if (reply.statusCode >= 400) await discardUnreadBody(request.raw);
  });
  return app;
}

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Only JSON is read. A body of no bytes is none, whatever it says it is: clients send the header out of habit. */
function acceptJsonOnly(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, undefined);
    else void parse(request, body as string, done);
  });
}
