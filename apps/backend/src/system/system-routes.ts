import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { Accepted, CheckResult, HotspotLogin, Status, UpdateResult, Version } from '@station/protocol/agent-api';
import { SystemUpdateRequest } from '@station/protocol/rest';
import type { AgentClient } from '../adapters/agent-client.ts';
import type { HttpServer, ReplyOf, RequestOf } from '../http/server.ts';
import { createAgentStreams, forward, forwarded, type StreamParts } from './forward.ts';

type Parts = StreamParts & {
  /** The agent asks this backend to stop, and starts it again. */
  onRestart: () => void;
};

/** /api/system: the agent's API for people, forwarded over its socket (contracts, section 9). */
export async function registerSystemRoutes(app: HttpServer, parts: Parts): Promise<void> {
  const { agent } = parts;
  const streamEvents = createAgentStreams(parts, maxEventStreams);
  app.get('/api/system/status', statusRoute, (_request, reply) => getStatus(agent, reply));
  app.get('/api/system/version', versionRoute, (_request, reply) => getVersion(agent, reply));
  app.get('/api/system/hotspot', hotspotRoute, (_request, reply) => getHotspot(agent, reply));
  app.get('/api/system/events', eventsRoute, (request, reply) => streamEvents('/events', request, reply));
  app.post('/api/system/check', checkRoute, (_request, reply) => check(agent, reply));
  app.post('/api/system/update', updateRoute, (request, reply) => update(agent, request, reply));
  app.post('/api/system/rollback', rollbackRoute, (_request, reply) => rollBack(agent, reply));
  app.post('/api/agent/restart', restartRoute, (_request, reply) => restart(parts, reply));
}

const tags = ['system'];
const forUsers = { access: 'user' } as const;
const forOwners = { access: { roles: ['owner'] } } as const;
const forOperators = { access: { roles: ['owner', 'admin'] } } as const;
const forAgent = { access: 'agent' } as const;

const answerTimeoutMs = 5_000;
/** Above them the oldest stream ends: a program that connects again and again ends its own. */
const maxEventStreams = { each: 6, all: 32 };
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

const hotspotRoute = { config: forOwners, schema: { tags, response: { 200: HotspotLogin } }, ...forwarded };

async function getHotspot(agent: AgentClient, reply: FastifyReply) {
  return forward(reply, await agent.call('GET', '/hotspot', { timeoutMs: answerTimeoutMs }));
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
