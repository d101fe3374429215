import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { collectBytes } from '@station/kit/collect-bytes';
import { type BoundedRequests, strangerBodyBytes } from '@station/kit/bounded-requests';
import { errorBody, MethodNotAllowedError, toErrorResponse } from '@station/kit/http-errors';
import type { AgentLogger } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';
import { checkRequest } from '@station/kit/validation';
import { ownValue } from '@station/protocol/own-value';
import type { Guard } from './guard.ts';
import { type Answer, createRoutes, type Methods, type RouteParts, shuttingDown } from './routes.ts';

type RequestParts = RouteParts & { logger: AgentLogger; guard: Guard; bounded: BoundedRequests };

/** Answers the requests of the agent's HTTP API (contracts, section 4). */
export function createRequestHandler(
  parts: RequestParts,
): (request: IncomingMessage, response: ServerResponse) => void {
  const routes = createRoutes(parts);
  return (request, response) => void respond(request, response, { ...parts, routes });
}

/** Answers bytes that are not HTTP, and requests that do not arrive in time. */
export function answerInvalidHttp(_error: Error, socket: Duplex): void {
  if (!socket.writable) return;
  const text = JSON.stringify(errorBody('bad_request', 'The request is not valid HTTP.'));
  const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}`;
  socket.end(`${head}\r\nconnection: close\r\n\r\n${text}`);
}

type Responding = RequestParts & { routes: ReadonlyMap<string, Methods> };

async function respond(request: IncomingMessage, response: ServerResponse, parts: Responding): Promise<void> {
  const { logger, bounded, stopping } = parts;
  try {
    const answer = await answerTo(request, response, parts);
    // Nobody would end what a client that has gone follows.
    if (response.closed) return;
    if (answer.kind === 'stream') answer.follow(response);
    else send(response, answer, stopping);
  } catch (error) {
    // A client that disconnects before its request is complete is no error.
    if (request.destroyed && !request.complete) return;
    const { body, headers, isFault } = toErrorResponse(error);
    if (isFault) {
      const where = `http ${request.method ?? ''} ${targetOf(request).path}`;
      logger.failed(where, error);
    }
    await bounded.discard(request, response);
    send(response, { kind: 'json', status: body.statusCode, body, headers }, stopping);
  }
}

/** @throws StationError, RequestInvalidError, MethodNotAllowedError: the refusal. */
async function answerTo(
  request: IncomingMessage,
  response: ServerResponse,
  { routes, guard, bounded, stopping }: Responding,
): Promise<Answer> {
  if (stopping.aborted) throw shuttingDown();
  const { path, query } = targetOf(request);
  const address = decoded(path);
  const methods = address === null ? undefined : routes.get(address);
  guard(request, ownValue(methods, request.method ?? '')?.isSecret === true);
  if (address === null) throw new StationError('bad_request', 'The address is not valid.');
  if (methods === undefined) throw new StationError('not_found', 'There is nothing at this address.');
  const route = ownValue(methods, request.method ?? '');
  if (route === undefined) throw new MethodNotAllowedError(Object.keys(methods));
  const { maxBodyBytes = strangerBodyBytes } = route;
  if (route.body !== null) bounded.admit(request, response, anyone, maxBodyBytes);
  return route.answer({
    body: route.body === null ? null : checkRequest('body', route.body, await readJson(request, maxBodyBytes)),
    query: checkRequest('querystring', route.query, queryOf(query)),
  });
}

/**
 * The guard has admitted them, and all of them are on this machine. A second restore is refused by its headers: one that ended the
 * first would let a hijacked backend keep the agent busy with reading.
 */
const anyone = { client: 'anyone', isStranger: false, keepsPlace: true } as const;

function targetOf(request: IncomingMessage): { path: string; query: string } {
  const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s);
  return { path, query };
}

function decoded(path: string): string | null {
  try {
    return decodeURI(path);
  } catch {
    return null;
  }
}

/** A key that is given twice has a list as its value. */
function queryOf(text: string): Record<string, string | string[]> {
  const given = new URLSearchParams(text);
  const values = [...new Set(given.keys())].map((key) => [key, given.getAll(key)] as const);
  return Object.fromEntries(values.map(([key, all]) => [key, all.length === 1 ? (all[0] ?? '') : all]));
}

/** A missing body counts as `{}`, even with a content type: some clients always send the header. */
async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const { 'content-type': type, 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (type === undefined && length === '0' && encoding === undefined) return {};
  const mediaType = type?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json')
    throw new StationError('unsupported_media_type', 'The body must be JSON (content-type application/json).');
  const bytes = await readBytes(request, maxBytes);
  return bytes.length === 0 ? {} : parseBody(bytes);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The rest of a body that is too large is discarded with its refusal. */
async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const bytes = await collectBytes(request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>, maxBytes);
  if (bytes === null) throw new StationError('payload_too_large', 'The request is larger than what is accepted.');
  return bytes;
}

function parseBody(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes), refusePrototype);
  } catch {
    throw new StationError('bad_request', 'The body is not valid JSON in UTF-8.');
  }
}

/** A copy of an object with this key would get another prototype. */
function refusePrototype(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new SyntaxError('The key __proto__ is not accepted.');
  return value;
}

function send(response: ServerResponse, answer: Exclude<Answer, { kind: 'stream' }>, stopping: AbortSignal): void {
  const text = answer.kind === 'json' ? JSON.stringify(answer.body) : answer.text;
  response.writeHead(answer.kind === 'json' ? answer.status : 200, {
    'content-type': answer.kind === 'json' ? 'application/json; charset=utf-8' : answer.contentType,
    'content-length': Buffer.byteLength(text),
    ...(answer.kind === 'json' ? answer.headers : {}),
    ...(stopping.aborted ? { connection: 'close' } : {}),
  });
  response.end(text);
}
