import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { BackendLogger } from '@station/kit/logger';
import { LogQuery, Machine, ServiceRestartRequest } from '@station/protocol/agent-machine';
import { NetworkJoinRequest, NetworkState } from '@station/protocol/agent-network';
import type { AgentClient } from '../adapters/agent-client.ts';
import { userOf } from '../http/access.ts';
import type { HttpServer, RequestOf } from '../http/server.ts';
import { createAgentStreams, forward, forwarded, type StreamParts } from './forward.ts';

type Parts = StreamParts & { logger: BackendLogger };

/** The machine of the station and its network, for those who manage it: the agent's API, forwarded (contracts, section 9). */
export async function registerOperatorRoutes(app: HttpServer, parts: Parts): Promise<void> {
  const { agent } = parts;
  const streamLogs = createAgentStreams(parts, maxLogStreams);
  app.get('/api/system/machine', machineRoute, (_request, reply) => read(agent, '/machine', reply));
  app.post('/api/system/machine/restart', machineRestartRoute, (request, reply) =>
    restartMachine(parts, request, reply),
  );
  app.post('/api/system/services/restart', restartRoute, (request, reply) => restartService(parts, request, reply));
  app.get('/api/system/network', networkRoute, (_request, reply) => read(agent, '/network', reply));
  app.post('/api/system/network/scan', scanRoute, (_request, reply) => scan(agent, reply));
  app.post('/api/system/network/join', joinRoute, (request, reply) => join(parts, request, reply));
  app.get('/api/system/logs', logsRoute, (request, reply) => streamLogs(`/logs${queryOf(request)}`, request, reply));
}

const tags = ['system'];
const config = { access: { roles: ['owner', 'admin'] } } as const;
const Begun = Type.Object({});

const answerTimeoutMs = 5_000;
/** A scan takes the agent 15 s at most. */
const scanTimeoutMs = 20_000;
/** Each follows all services of the stack; see `maxLogStreams` of the agent. */
const maxLogStreams = { each: 2, all: 6 };

async function read(agent: AgentClient, path: string, reply: FastifyReply) {
  return forward(reply, await agent.call('GET', path, { timeoutMs: answerTimeoutMs }));
}

const machineRoute = { config, schema: { tags, response: { 200: Machine } }, ...forwarded };
const networkRoute = { config, schema: { tags, response: { 200: NetworkState } }, ...forwarded };
const scanRoute = { config, schema: { tags, response: { 200: NetworkState } }, ...forwarded };

async function scan(agent: AgentClient, reply: FastifyReply) {
  return forward(reply, await agent.call('POST', '/network/scan', { timeoutMs: scanTimeoutMs }));
}

const joinRoute = {
  config,
  schema: { tags, body: NetworkJoinRequest, response: { 202: Begun } },
  ...forwarded,
};

/** The log says who moved the station, and neither the network nor its password. */
async function join({ agent, logger }: Parts, request: RequestOf<typeof joinRoute>, reply: FastifyReply) {
  const answer = await agent.call('POST', '/network/join', { timeoutMs: answerTimeoutMs, body: request.body });
  if (answer.statusCode === 202) logger.event('network_join_requested', { userId: userOf(request).userId });
  return forward(reply, answer);
}

const restartRoute = {
  config,
  schema: { tags, body: ServiceRestartRequest, response: { 202: Begun } },
  ...forwarded,
};

async function restartService({ agent, logger }: Parts, request: RequestOf<typeof restartRoute>, reply: FastifyReply) {
  const { body } = request;
  const answer = await agent.call('POST', '/services/restart', { timeoutMs: answerTimeoutMs, body });
  const { userId } = userOf(request);
  if (answer.statusCode === 202) logger.event('service_restart_requested', { userId, service: body.service });
  return forward(reply, answer);
}

const machineRestartRoute = { config, schema: { tags, response: { 202: Begun } }, ...forwarded };

async function restartMachine(
  { agent, logger }: Parts,
  request: RequestOf<typeof machineRestartRoute>,
  reply: FastifyReply,
) {
  const answer = await agent.call('POST', '/machine/restart', { timeoutMs: answerTimeoutMs });
  if (answer.statusCode === 202) logger.event('machine_restart_requested', { userId: userOf(request).userId });
  return forward(reply, answer);
}

const logsRoute = { config, schema: { tags, querystring: LogQuery } };

function queryOf({ query }: RequestOf<typeof logsRoute>): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? '' : `?${text}`;
}
