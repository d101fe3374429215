import type { FastifyReply } from 'fastify';
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
import type { HttpServer } from '../http/server.ts';

const answerTimeoutMs = 5_000;
/** A check fetches both manifests, which may take the agent 30 s each. */
const checkTimeoutMs = 70_000;
const maxEventStreams = 32;

const operators = { roles: ['owner', 'admin'] } as const;

type SystemRoutesParts = {
  agent: AgentClient;
  tokens: AccessTokens;
  clock: Clock;
  closing: AbortSignal;
  /** The agent wants this backend to stop and be started again. */
  onRestart: () => void;
};

/**
 * /api/system: the agent's API for people, passed on over its socket (contracts, section 9). `closing` ends the open streams.
 */
export async function registerSystemRoutes(
  app: HttpServer,
  { agent, tokens, clock, closing, onRestart }: SystemRoutesParts,
): Promise<void> {
  const documented = (success: object) => ({ tags: ['system'], response: success });

  app.get(
    '/api/system/status',
    { config: { access: 'user' }, schema: documented({ 200: Status }), serializerCompiler: () => JSON.stringify },
    async (_request, reply) => passOn(reply, await agent.call('GET', '/status', { timeoutMs: answerTimeoutMs })),
  );

  app.get(
    '/api/system/version',
    { config: { access: 'user' }, schema: documented({ 200: Version }), serializerCompiler: () => JSON.stringify },
    async (_request, reply) => passOn(reply, await agent.call('GET', '/version', { timeoutMs: answerTimeoutMs })),
  );

  app.post(
    '/api/system/check',
    {
      config: { access: operators },
      schema: documented({ 200: CheckResult }),
      serializerCompiler: () => JSON.stringify,
    },
    async (_request, reply) => passOn(reply, await agent.call('POST', '/check', { timeoutMs: checkTimeoutMs })),
  );

  app.post(
    '/api/system/update',
    {
      config: { access: operators },
      schema: {
        ...documented({ 200: UpdateResult, 202: Accepted }),
        body: Type.Union([Type.Null(), SystemUpdateRequest]),
      },
      serializerCompiler: () => JSON.stringify,
    },
    async (request, reply) => {
      // Never waits for the end: the update replaces this very process.
      const options = { timeoutMs: answerTimeoutMs, body: request.body ?? {} };
      return passOn(reply, await agent.call('POST', '/update?wait=false', options));
    },
  );

  app.post(
    '/api/system/rollback',
    { config: { access: operators }, schema: documented({ 202: Accepted }), serializerCompiler: () => JSON.stringify },
    async (_request, reply) =>
      passOn(reply, await agent.call('POST', '/rollback?wait=false', { timeoutMs: answerTimeoutMs })),
  );

  app.post(
    '/api/agent/restart',
    { config: { access: 'agent' }, schema: { tags: ['system'], response: { 202: Type.Null() } } },
    async (_request, reply) => {
      reply.raw.once('finish', onRestart);
      return reply.code(202).send(null);
    },
  );

  let eventStreams = 0;
  app.get(
    '/api/system/events',
    { config: { access: 'user' }, schema: { tags: ['system'] } },
    async (request, reply) => {
      if (eventStreams >= maxEventStreams) throw new StationError('unavailable', 'Too many event streams are open.');
      eventStreams++;
      // Like a socket, a stream ends with the token that it was opened by: the reader comes back with a new one.
      const token = untilTokenEnds(tokens, userOf(request), clock);
      const ended = (): void => {
        eventStreams--;
        token[Symbol.dispose]();
      };
      try {
        const stream = await agent.openEvents(AbortSignal.any([closing, token.signal]));
        stream.once('close', ended);
        // Piped, so a reader that is slow slows the agent's stream down and nothing piles up here.
        return reply.type('text/event-stream').header('x-accel-buffering', 'no').send(stream);
      } catch (error) {
        ended();
        throw error;
      }
    },
  );
}

/** Hands the agent's answer on as it is, refusals included, but for one: that the agent does not trust us is no matter of the user's token. */
function passOn(reply: FastifyReply, { statusCode, body }: AgentAnswer): FastifyReply {
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

/** The signal aborts when the token expires or is revoked, at once when it was already; until disposed. */
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
  const listening = tokens.onRevoke((userId) => {
    if (userId === claims.userId) end();
  });
  function stop(): void {
    clearTimeout(timer);
    listening[Symbol.dispose]();
  }
  if (!tokens.holds(claims)) end();
  return { signal: ending.signal, [Symbol.dispose]: stop };
}
