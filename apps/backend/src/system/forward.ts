import type { FastifyReply, FastifyRequest } from 'fastify';
import { Value } from 'typebox/value';
import type { Clock } from '@station/kit/clock';
import { createFairPlaces } from '@station/kit/fair-places';
import { StationError } from '@station/kit/station-error';
import { after } from '@station/kit/timers';
import { ErrorBody } from '@station/protocol/errors';
import type { AgentAnswer, AgentClient } from '../core/adapters/agent-client.ts';
import type { AccessClaims, AccessTokens } from '../core/access-tokens.ts';
import { userOf } from '../http/access.ts';

export type StreamParts = {
  agent: AgentClient;
  tokens: AccessTokens;
  clock: Clock;
  /** Aborts when the server closes; ends open streams. */
  closing: AbortSignal;
};

/** Answers of the agent are forwarded unchanged; their schemas are documentation. */
export const forwarded = { serializerCompiler: () => JSON.stringify };

/** Passes on a stream of the agent to the user of a request. */
type PassOn = (path: string, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** @param most streams of one user, and of all: above them the oldest ends of this user, or of whoever has most. */
export function createAgentStreams(parts: StreamParts, most: { each: number; all: number }): PassOn {
  const { agent, tokens, clock, closing } = parts;
  const streams = createFairPlaces<AbortController>(most);
  return async (path, request, reply) => {
    const user = userOf(request);
    const place = new AbortController();
    streams.enter(place, [user.userId, user.sessionId ?? 'none'])?.abort();
    // Like a socket, a stream ends with its access token; the client reconnects with a new one.
    const token = untilTokenEnds(tokens, user, clock);
    const onEnd = (): void => {
      streams.leave(place);
      token[Symbol.dispose]();
    };
    try {
      const stream = await agent.openStream(path, AbortSignal.any([closing, token.signal, place.signal]));
      stream.once('close', onEnd);
      // Piped: a slow reader slows down the agent's stream, so nothing accumulates here.
      return await reply.type('text/event-stream').header('x-accel-buffering', 'no').send(stream);
    } catch (error) {
      onEnd();
      throw error;
    }
  };
}

/** Forwards the agent's answer, refusals included. A 401 or 403 concerns the backend's token, not the user's, so it becomes another error. */
export function forward(reply: FastifyReply, { statusCode, body }: AgentAnswer): FastifyReply {
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
  const expiry = after(Math.max(0, claims.expiresAt - clock.now()), end);
  const subscription = tokens.onRevoke(() => {
    if (!tokens.holds(claims)) end();
  });
  function stop(): void {
    expiry[Symbol.dispose]();
    subscription[Symbol.dispose]();
  }
  if (!tokens.holds(claims)) end();
  return { signal: ending.signal, [Symbol.dispose]: stop };
}
