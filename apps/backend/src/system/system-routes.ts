import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import { Accepted, CheckResult, Status, UpdateResult, Version } from '@station/protocol/agent-api';
import { ErrorBody } from '@station/protocol/errors';
import { SystemUpdateRequest } from '@station/protocol/rest';
import type { AgentAnswer, AgentClient } from '../adapters/agent-client.ts';
import type { AccessClaims, AccessTokens } from '../core/access-tokens.ts';
import { userOf } from '../http/access.ts';
import type { HttpServer, ReplyOf, RequestOf } from '../http/server.ts';

type Parts = {
  agent: AgentClient;
  tokens: AccessTokens;
  clock: Clock;
  /** Aborts when the server closes; ends open event streams. */
  closing: AbortSignal;
  /** The agent asks this backend to stop, and starts it again. */
  onRestart: () => void;
};

/** /api/system: the agent's API for people, forwarded over its socket (contracts, section 9). */
export async function registerSystemRoutes(app: HttpServer, parts: Parts): Promise<void> {
  const { agent } = parts;
  const streams: Streams = { open: 0 };
  app.get('/api/system/status', statusRoute, (_request, reply) => getStatus(agent, reply));
  app.get('/api/system/version', versionRoute, (_request, reply) => getVersion(agent, reply));
  app.get('/api/system/events', eventsRoute, (request, reply) => streamEvents(parts, streams, request, reply));
  app.post('/api/system/check', checkRoute, (_request, reply) => check(agent, reply));
  app.post('/api/system/update', updateRoute, (request, reply) => update(agent, request, reply));
  app.post('/api/system/rollback', rollbackRoute, (_request, reply) => rollBack(agent, reply));
  app.post('/api/agent/restart', restartRoute, (_request, reply) => restart(parts, reply));
}

const tags = ['system'];
const forUsers = { access: 'user' } as const;
const forOperators = { access: { roles: ['owner', 'admin'] } } as const;
const forAgent = { access: 'agent' } as const;

/** Answers of the agent are forwarded unchanged; their schemas are documentation. */
const forwarded = { serializerCompiler: () => JSON.stringify };

const answerTimeoutMs = 5_000;
/** A check fetches both manifests, which may take the agent 30 s each. */
const checkTimeoutMs = 70_000;

const statusRoute = { config: forUsers, schema: { tags, response: { 200: Status } }, ...forwarded };

async function getStatus(agent: AgentClient, reply: FastifyReply) {
  return forward(reply, await agent.call('GET', '/status', { timeoutMs: answerTimeoutMs }));
}

const versionRoute = { config: forUsers, schema: { tags, response: { 200: Version } }, ...forwarded };

async function getVersion(agent: AgentClient, reply: FastifyReply) {
  return forward(reply, await agent.call('GET', '/version', { timeoutMs: answerTimeoutMs }));
}

const checkRoute = { config: forOperators, schema: { tags, response: { 200: CheckResult } }, ...forwarded };

async function check(agent: AgentClient, reply: FastifyReply) {
  return forward(reply, await agent.call('POST', '/check', { timeoutMs: checkTimeoutMs }));
}

const updateRoute = {
  config: forOperators,
  schema: {
    tags,
    body: Type.Union([Type.Null(), SystemUpdateRequest]),
    response: { 200: UpdateResult, 202: Accepted },
  },
  ...forwarded,
};

async function update(agent: AgentClient, request: RequestOf<typeof updateRoute>, reply: FastifyReply) {
  // Never waits for the end: the update replaces this very process.
  const options = { timeoutMs: answerTimeoutMs, body: request.body ?? {} };
  return forward(reply, await agent.call('POST', '/update?wait=false', options));
}

const rollbackRoute = { config: forOperators, schema: { tags, response: { 202: Accepted } }, ...forwarded };

async function rollBack(agent: AgentClient, reply: FastifyReply) {
  return forward(reply, await agent.call('POST', '/rollback?wait=false', { timeoutMs: answerTimeoutMs }));
}

const restartRoute = { config: forAgent, schema: { tags, response: { 202: Type.Null() } } };

async function restart({ onRestart }: Parts, reply: ReplyOf<typeof restartRoute>) {
  reply.raw.once('finish', onRestart);
  return reply.code(202).send(null);
}

const eventsRoute = { config: forUsers, schema: { tags } };
const maxEventStreams = 32;

type Streams = { open: number };

async function streamEvents(parts: Parts, streams: Streams, request: FastifyRequest, reply: FastifyReply) {
  const { agent, tokens, clock, closing } = parts;
  if (streams.open >= maxEventStreams) throw new StationError('unavailable', 'Too many event streams are open.');
  streams.open++;
  // Like a socket, a stream ends with its access token; the client reconnects with a new one.
  const token = untilTokenEnds(tokens, userOf(request), clock);
  const onEnd = (): void => {
    streams.open--;
    token[Symbol.dispose]();
  };
  try {
    const stream = await agent.openEvents(AbortSignal.any([closing, token.signal]));
    stream.once('close', onEnd);
    // Piped: a slow reader slows down the agent's stream, so nothing accumulates here.
    return reply.type('text/event-stream').header('x-accel-buffering', 'no').send(stream);
  } catch (error) {
    onEnd();
    throw error;
  }
}

/** Forwards the agent's answer, refusals included. A 401 or 403 concerns the backend's token, not the user's, so it becomes another error. */
function forward(reply: FastifyReply, { statusCode, body }: AgentAnswer): FastifyReply {
  if (statusCode === 401 || statusCode === 403) {
    throw new StationError(
      'agent_unreachable',
      "The agent refused this backend's token. AGENT_TOKEN must be the same for both.",
    );
  }
  if (statusCode >= 400 && !Value.Check(ErrorBody, body)) {
    throw new StationError('agent_unreachable', `The agent answered with status ${statusCode}.`);
  }
  return reply.code(statusCode).type('application/json; charset=utf-8').send(body);
}

/** The signal aborts when the token expires or is revoked, immediately if that has happened. Dispose it to stop watching. */
function untilTokenEnds(
  tokens: Pick<AccessTokens, 'holds' | 'onRevoke'>,
  claims: AccessClaims,
  clock: Clock,
): { signal: AbortSignal } & Disposable {
  const ending = new AbortController();
  const end = (): void => {
    stop();
    ending.abort(new Error('The access token has ended'));
  };
  const timer = setTimeout(end, Math.max(0, claims.expiresAt - clock.now()));
  const subscription = tokens.onRevoke(() => {
    if (!tokens.holds(claims)) end();
  });
  function stop(): void {
    clearTimeout(timer);
    subscription[Symbol.dispose]();
  }
  if (!tokens.holds(claims)) end();
  return { signal: ending.signal, [Symbol.dispose]: stop };
}
