import { Value } from 'typebox/value';
import { type Clock, isoTime } from '@station/kit/clock';
import { parseJson } from '@station/kit/json';
import { AgentLog, DoctorReport, type SystemDoctor } from '@station/protocol/doctor';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import { serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';
import type { createExaminer } from './doctor-job.ts';
import { redact } from './redact-decide.ts';

type Parts = {
  agent: AgentClient;
  hasAgent: boolean;
  examine: ReturnType<typeof createExaminer>;
  /** Of the bundle: configuration, versions, conditions, log. Secrets in it are removed here. */
  describe: () => Promise<Record<string, unknown>>;
  /** Secrets and personal data of this station. */
  knownSecrets: () => Promise<string[]>;
  clock: Pick<Clock, 'now'>;
};
/** The agent fetches the manifest and asks Compose. */
const agentTimeoutMs = 60_000;
const logTimeoutMs = 15_000;

/** GET /api/system/doctor checks the station; GET /api/system/diagnostics is a file for support, without secrets. */
export async function registerDoctorRoutes(app: HttpServer, parts: Parts): Promise<void> {
  serve(app, 'GET /api/system/doctor', async () => {
    const [{ report: backend }, agent] = await Promise.all([parts.examine(), askAgent(parts)]);
    return { backend, ...agent };
  });
  serve(app, 'GET /api/system/diagnostics', async (_request, reply) => {
    const name = `station-diagnostics-${isoTime(parts.clock.now()).slice(0, 10)}.json`;
    void reply.header('content-disposition', `attachment; filename="${name}"`).type('application/json; charset=utf-8');
    return reply.serializer(String).send(await bundleOf(parts));
  });
}

async function bundleOf(parts: Parts): Promise<string> {
  const { agent: client, clock, describe, examine, knownSecrets } = parts;
  const [{ report, rows }, agent, agentStatus, agentLog, own, known] = await Promise.all([
    examine(),
    askAgent(parts),
    ask(client, '/status', logTimeoutMs),
    ask(client, '/log', logTimeoutMs),
    describe(),
    knownSecrets(),
  ]);
  const bundle = {
    format: 1,
    createdAt: isoTime(clock.now()),
    ...own,
    rows,
    doctor: { backend: report, ...agent },
    agentStatus,
    agentLog: Value.Check(AgentLog, agentLog) ? agentLog.lines.map(parsed) : [],
  };
  return `${JSON.stringify(redact(bundle, known), null, 1)}\n`;
}

/** A line of the log as an object, so that its fields are looked at by name. */
export function parsed(line: string): unknown {
  const value = parseJson(line);
  return value === undefined ? line : value;
}

type AgentAnswer = Pick<SystemDoctor, 'agent' | 'agentMissing'>;

async function askAgent({ agent, hasAgent }: Parts): Promise<AgentAnswer> {
  if (!hasAgent) return { agent: null, agentMissing: 'not_configured' };
  try {
    const { statusCode, body } = await agent.call('GET', '/doctor', { timeoutMs: agentTimeoutMs });
    if (statusCode === 200 && Value.Check(DoctorReport, body))
      return { agent: body satisfies DoctorReport, agentMissing: null };
    return { agent: null, agentMissing: statusCode === 404 ? 'outdated' : 'unreachable' };
  } catch {
    return { agent: null, agentMissing: 'unreachable' };
  }
}

/** Null when the agent does not answer: the bundle is made without it. */
async function ask(agent: AgentClient, path: string, timeoutMs: number): Promise<unknown> {
  try {
    const { statusCode, body } = await agent.call('GET', path, { timeoutMs });
    return statusCode === 200 ? body : null;
  } catch {
    return null;
  }
}
