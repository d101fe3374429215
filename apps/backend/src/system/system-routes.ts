import type { FastifyReply } from 'fastify';
import type { BackendLogger } from '@station/kit/logger';
import { onceClosed } from '@station/kit/once-closed';
import { StationError } from '@station/kit/station-error';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import { userOf } from '../http/access.ts';
import { type ReplyOf, type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import { createAgentStreams, forward, forwarded, type StreamParts } from './forward.ts';

type Parts = StreamParts & {
  /** The agent asks this backend to stop, and starts it again. */
  onRestart: () => void;
  logger: BackendLogger;
};

/** /api/system: the agent's API for people, forwarded over its socket (contracts, section 9). */
export async function registerSystemRoutes(app: HttpServer, parts: Parts): Promise<void> {
  const { agent } = parts;
  const streamEvents = createAgentStreams(parts, maxEventStreams);
  const ask = async (method: 'GET' | 'POST', path: string, reply: FastifyReply, timeoutMs = answerTimeoutMs) =>
    forward(reply, await agent.call(method, path, { timeoutMs }));
  serve(app, 'GET /api/system/status', (_request, reply) => ask('GET', '/status', reply), forwarded);
  serve(app, 'GET /api/system/version', (_request, reply) => ask('GET', '/version', reply), forwarded);
  serve(app, 'GET /api/system/hotspot', (_request, reply) => ask('GET', '/hotspot', reply), forwarded);
  serve(app, 'GET /api/system/events', (request, reply) => streamEvents('/events', request, reply));
  serve(app, 'POST /api/system/check', (_request, reply) => ask('POST', '/check', reply, checkTimeoutMs), forwarded);
  serve(app, 'POST /api/system/update', (request, reply) => update(agent, request, reply), forwarded);
  serve(app, 'POST /api/system/rollback', (_request, reply) => ask('POST', '/rollback?wait=false', reply), forwarded);
  serve(app, 'PUT /api/system/auto-update', (request, reply) => chooseAutoUpdate(parts, request, reply), forwarded);
  serve(app, 'POST /api/agent/restart', (_request, reply) => restart(parts, reply));
}

const answerTimeoutMs = 5_000;
/** Above them the oldest stream ends: a program that connects again and again ends its own. */
const maxEventStreams = { each: 6, all: 32 };
/** A check fetches both manifests, which may take the agent 30 s each. */
const checkTimeoutMs = 70_000;

async function update(agent: AgentClient, request: RequestOf<'POST /api/system/update'>, reply: FastifyReply) {
  // Never waits for the end: the update replaces this very process.
  const options = { timeoutMs: answerTimeoutMs, body: request.body ?? {} };
  return forward(reply, await agent.call('POST', '/update?wait=false', options));
}

/** The agent keeps the choice: releases and firmware both come through it. */
async function chooseAutoUpdate(
  { agent, logger }: Parts,
  request: RequestOf<'PUT /api/system/auto-update'>,
  reply: FastifyReply,
) {
  const { body } = request;
  const answer = await agent.call('POST', '/auto-update', { timeoutMs: answerTimeoutMs, body });
  if (answer.statusCode === 404) {
    const help = 'Update the agent with install.sh, or set AUTO_UPDATE in its settings file.';
    throw new StationError('agent_too_old', `The agent of this station cannot take the choice yet. ${help}`);
  }
  const { userId } = userOf(request);
  if (answer.statusCode === 200) logger.event('auto_update_requested', { userId, autoUpdate: body.autoUpdate });
  return forward(reply, answer);
}

async function restart({ onRestart }: Parts, reply: ReplyOf<'POST /api/agent/restart'>) {
  onceClosed(reply.raw, onRestart);
  return reply.code(202).send(null);
}
