import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import type { CheckOutcome } from '@station/kit/doctor-decide';
import { formatBytes } from '@station/kit/machine-decide';
import { describeError } from '@station/kit/station-error';
import type { BackendFindingCode } from '@station/protocol/backend-findings';
import { ownValue } from '@station/protocol/own-value';
import { type AgentTarget, createAgentClient } from '../core/adapters/agent-client.ts';
import type { MqttConfig } from '../mqtt/mqtt.ts';
import { readSchemaState } from '../store/migrate.ts';
import { migrations } from '../store/migrations/all.ts';
import { openPostgres } from '../store/postgres.ts';
import { readTextFile } from './adapters/data-files.ts';
import { isListening, probeBroker, probeHttp } from './adapters/network-probe.ts';
import { decideSchema } from './database-decide.ts';
import { decideExternalBroker, decideOwnBroker, decideWebApp, decideWebServer, isBackend } from './service-decide.ts';

export type ServerConfig = { host: string; port: number; mqtt: MqttConfig; webDir: string | null };

type Outcome = CheckOutcome<BackendFindingCode>;

/** Where a server on this machine is reached when it listens on every address. */
const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

const urlOf = ({ host, port }: ServerConfig): string => {
  const name = reachable(host);
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}/api/health`;
};

/** Null: the backend takes any free port, so nobody knows which. */
export async function checkWebServer(config: ServerConfig, signal: AbortSignal): Promise<Outcome | null> {
  if (config.port === 0) return null;
  return decideWebServer(`${config.host}:${config.port}`, config.port, await probeHttp(urlOf(config), signal));
}

export async function checkBroker(config: ServerConfig, signal: AbortSignal): Promise<Outcome | null> {
  const { mqtt } = config;
  if (mqtt.kind === 'external') {
    const { url, username, password, caFile } = mqtt;
    // An unreadable file is a finding of its own; the login then fails too.
    const content = caFile === null ? null : await readTextFile(caFile);
    const authority = content !== null && 'text' in content ? content.text : null;
    return decideExternalBroker(new URL(url).host, await probeBroker(url, { username, password, authority }));
  }
  const port = mqtt.ports.plain ?? mqtt.ports.tls ?? 0;
  if (port === 0 || config.port === 0) return null;
  const isBackendRunning = isBackend(await probeHttp(urlOf(config), signal));
  const facts = { isListening: await isListening(reachable(mqtt.host), port, signal), isBackendRunning };
  return decideOwnBroker(`${mqtt.host}:${port}`, port, facts);
}

/** The page and what it loads first. Null: another program serves the web app. */
export async function checkWebApp({ webDir }: ServerConfig): Promise<Outcome | null> {
  if (webDir === null) return null;
  const page = await readTextFile(join(webDir, 'index.html'));
  if ('failure' in page) return decideWebApp(webDir, ['index.html']);
  const needed = [...page.text.matchAll(/(?:src|href)="\/([^"?#]+\.(?:js|css))"/g)].map(([, name = '']) => name);
  const missing: string[] = [];
  for (const name of new Set(needed)) if ('failure' in (await readTextFile(join(webDir, name)))) missing.push(name);
  return decideWebApp(webDir, missing);
}

const agentTimeoutMs = 5_000;

/** Null: this backend has no agent. */
export async function checkAgent(config: {
  agent: AgentTarget | null;
  agentToken: string | null;
}): Promise<Outcome | null> {
  const { agent, agentToken } = config;
  if (agent === null) return null;
  const address = agent.kind === 'socket' ? agent.path : new URL(agent.url).host;
  try {
    const { statusCode } = await createAgentClient(agent, agentToken).call('GET', '/version', {
      timeoutMs: agentTimeoutMs,
    });
    if (statusCode === 200) return { detail: address, findings: [] };
    if (statusCode === 401 || statusCode === 403) {
      return { detail: address, findings: [{ code: 'agent_refuses', values: {} }] };
    }
    return silent(address, `it answered with status ${statusCode}`);
  } catch (error) {
    return silent(address, describeError(error instanceof Error && error.cause ? error.cause : error));
  }
}

const silent = (address: string, reason: string): Outcome => ({
  detail: address,
  findings: [{ code: 'agent_unreachable', values: { address, reason } }],
});

/** Looks whether the server answers, and which migrations it has. Its files are the server's own matter. */
export async function checkPostgres(url: string): Promise<Outcome> {
  const { host } = new URL(url);
  const db = await openPostgres({
    url,
    replicaId: null,
    onError: () => undefined,
    logger: { failed: () => undefined },
  });
  try {
    const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(db);
    const { pending, unknown, isNew } = await readSchemaState(db as Kysely<unknown>, migrations);
    const detail = `${host} ${formatBytes(Number(rows[0]?.bytes ?? 0))}`;
    return { detail, findings: isNew ? [] : decideSchema({ pending, unknown }) };
  } catch (error) {
    return { detail: host, findings: [{ code: 'database_unreachable', values: { host, reason: reasonOf(error) } }] };
  } finally {
    await db.destroy();
  }
}

/** Codes of PostgreSQL (appendix A) and of the network. A message may repeat the password. */
const explained: Readonly<Record<string, string>> = {
  '28P01': 'wrong password',
  '28000': 'the login is not allowed',
  '3D000': 'there is no database of this name',
  '53300': 'it has too many connections',
  '57P03': 'it is starting or stopping',
};

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
  return code === null ? 'no answer in time' : (ownValue(explained, code) ?? code);
}
