import type { FastifyReply } from 'fastify';
import type { BackendLogger } from '@station/kit/logger';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import { userOf } from '../http/access.ts';
import { type RequestOf, serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import { createAgentStreams, forward, forwarded, type StreamParts } from './forward.ts';

type Parts = StreamParts & { logger: BackendLogger };

/** The machine of the station and its network, for those who manage it: the agent's API, forwarded (contracts, section 9). */
export async function registerOperatorRoutes(app: HttpServer, parts: Parts): Promise<void> {
  const { agent } = parts;
  const streamLogs = createAgentStreams(parts, maxLogStreams);
  serve(app, 'GET /api/system/machine', (_request, reply) => read(agent, '/machine', reply), forwarded);
  serve(app, 'POST /api/system/machine/restart', (request, reply) => restartMachine(parts, request, reply), forwarded);
  serve(app, 'POST /api/system/services/restart', (request, reply) => restartService(parts, request, reply), forwarded);
  serve(app, 'GET /api/system/network', (_request, reply) => read(agent, '/network', reply), forwarded);
  serve(app, 'POST /api/system/network/scan', (_request, reply) => scan(agent, reply), forwarded);
  serve(app, 'POST /api/system/network/join', (request, reply) => join(parts, request, reply), forwarded);
  serve(app, 'GET /api/system/logs', (request, reply) => streamLogs(`/logs${queryOf(request)}`, request, reply));
}

const answerTimeoutMs = 5_000;
/** A scan takes the agent 15 s at most. */
const scanTimeoutMs = 20_000;
/** Each follows all services of the stack; see `maxLogStreams` of the agent. */
const maxLogStreams = { each: 2, all: 6 };

async function read(agent: AgentClient, path: string, reply: FastifyReply) {
  return forward(reply, await agent.call('GET', path, { timeoutMs: answerTimeoutMs }));
}

async function scan(agent: AgentClient, reply: FastifyReply) {
  return forward(reply, await agent.call('POST', '/network/scan', { timeoutMs: scanTimeoutMs }));
}

/** The log says who moved the station, and neither the network nor its password. */
async function join(
  { agent, logger }: Parts,
  request: RequestOf<'POST /api/system/network/join'>,
  reply: FastifyReply,
) {
  const answer = await agent.call('POST', '/network/join', { timeoutMs: answerTimeoutMs, body: request.body });
  if (answer.statusCode === 202) logger.event('network_join_requested', { userId: userOf(request).userId });
  return forward(reply, answer);
}

async function restartService(
  { agent, logger }: Parts,
  request: RequestOf<'POST /api/system/services/restart'>,
  reply: FastifyReply,
) {
  const { body } = request;
  const answer = await agent.call('POST', '/services/restart', { timeoutMs: answerTimeoutMs, body });
  const { userId } = userOf(request);
  if (answer.statusCode === 202) logger.event('service_restart_requested', { userId, service: body.service });
  return forward(reply, answer);
}

async function restartMachine(
  { agent, logger }: Parts,
  request: RequestOf<'POST /api/system/machine/restart'>,
  reply: FastifyReply,
) {
  const answer = await agent.call('POST', '/machine/restart', { timeoutMs: answerTimeoutMs });
  if (answer.statusCode === 202) logger.event('machine_restart_requested', { userId: userOf(request).userId });
  return forward(reply, answer);
}

function queryOf({ query }: RequestOf<'GET /api/system/logs'>): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? '' : `?${text}`;
}
