import { events as catalogue } from '@station/protocol/events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@station/kit/clock';
import { createLogger, type AgentLogger } from '@station/kit/logger';
import type { HistoryEntry, Status } from '@station/protocol/agent-api';
import type { Machine } from '@station/protocol/agent-machine';
import type { NetworkState } from '@station/protocol/agent-network';
import type { AgentEvent } from '@station/protocol/events';
import type { LogFollower } from '../src/core/operator-ports.ts';
import type { Config } from '../src/config.ts';
import type { StartAnswer } from '../src/core/stack-port.ts';
import type { AgentPort } from '../src/core/agent-port.ts';
import type { ListenHttp } from '../src/core/http-port.ts';
import { listenForApi } from '../src/core/adapters/http-listener.ts';
import { socketFiles } from '../src/http/adapters/unix-socket.ts';
import { createHttpServer, type HttpServer } from '../src/http/server.ts';

/** An agent behind the API with scripted answers. */
type ScriptedAgent = AgentPort & {
  /** What was asked for, in order: `update 1.2.0`, `update latest`, `rollback`, `check`. */
  asked: string[];
  /** The answer to the next update or rollback; by default one that is started and does not end. */
  answer: StartAnswer;
  statusNow: Status;
  /** Set: the next status call fails with it. */
  statusError: Error | null;
  joinAnswer: ReturnType<AgentPort['joinNetwork']>;
  /** Follows the log of the next request. */
  follower: LogFollower;
  /** What the log waits for before it is followed. */
  beforeLog: () => Promise<unknown>;
};

export type RunningServer = AsyncDisposable & {
  server: HttpServer;
  agent: ScriptedAgent;
  logger: AgentLogger;
  events: AgentEvent[];
  folder: string;
  /** The TCP address. */
  tcp: { host: string; port: number };
};

export type Target = { host: string; port: number } | { socketPath: string };
export type Answer = { status: number; headers: IncomingHttpHeaders; text: string; json: unknown };

/** Starts the API on a free port of loopback. */
export async function startServer(
  options: Partial<Config['api']> & { socketName?: string; listenHttp?: ListenHttp } = {},
): Promise<RunningServer> {
  const { socketName, listenHttp = listenForApi, ...given } = options;
  const folder = await mkdtemp(join(tmpdir(), 'agent-http-'));
  const events: AgentEvent[] = [];
  const logger = createLogger({ catalogue, clock: systemClock, level: 'info', secrets: [], write: () => undefined });
  const subscription = logger.subscribe((event) => void (events.length < 1000 && events.push(event)));
  const agent = scriptedAgent();
  const socketPath = socketName === undefined ? null : join(folder, socketName);
  const server = await createHttpServer({
    listenHttp,
    socketFiles,
    port: agent,
    logger,
    clock: systemClock,
    config: { host: '127.0.0.1', port: 0, socketPath, token: null, ...given },
    agentVersion: '0.1.0',
    random: () => 0.5,
  });
  const tcpAddress = server.addresses().find((address) => address.startsWith('http://'));
  return {
    server,
    agent,
    logger,
    events,
    folder,
    tcp: { host: '127.0.0.1', port: tcpAddress === undefined ? 0 : Number(new URL(tcpAddress).port) },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      subscription[Symbol.dispose]();
      await rm(folder, { recursive: true });
    },
  };
}

/** One request on a connection of its own. Rejects when the connection breaks before the answer is complete. */
export async function call(
  target: Target,
  method: string,
  path: string,
  options: { headers?: Record<string, string>; body?: string | Uint8Array } = {},
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const sent = request({ ...target, method, path, agent: false, headers: { ...options.headers } }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('error', reject);
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const isJson = response.headers['content-type']?.startsWith('application/json') === true;
      const json: unknown = isJson && text !== '' ? JSON.parse(text) : null;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
    });
  });
  sent.on('error', reject);
  sent.end(options.body);
  return promise;
}

export const postJson = (target: Target, path: string, body: unknown, headers: Record<string, string> = {}) =>
  call(target, 'POST', path, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });

/** Status and code of an error answer, in one line. */
export function outcomeOf(answer: Answer): string {
  const { code } = (answer.json ?? {}) as { code?: string };
  return code === undefined ? `${answer.status}` : `${answer.status} ${code}`;
}

export const startedAnswer = (ended: Promise<HistoryEntry | null>): StartAnswer => ({
  kind: 'started',
  operationId: 'operation-1',
  ended,
});

export const historyEntry = (changes: Partial<HistoryEntry> = {}): HistoryEntry => ({
  id: 'operation-1',
  kind: 'update',
  trigger: 'manual',
  result: 'updated',
  from: '1.0.0',
  to: '1.1.0',
  reason: null,
  code: null,
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:01:00.000Z',
  durationMs: 60_000,
  downtimeMs: 1500,
  ...changes,
});

function scriptedAgent(): ScriptedAgent {
  const agent: ScriptedAgent = {
    asked: [],
    answer: startedAnswer(new Promise(() => undefined)),
    statusNow: exampleStatus,
    statusError: null,
    joinAnswer: 'accepted',
    follower: async () => undefined,
    beforeLog: async () => undefined,
    status: async () => {
      if (agent.statusError) throw agent.statusError;
      return agent.statusNow;
    },
    version: () => ({ currentVersion: '1.0.0', latestVersion: null, agentVersion: '0.1.0' }),
    doctor: () => Promise.reject(new Error('no doctor here')),
    log: async () => [],
    wifiStatus: () => agent.statusNow.wifi,
    hotspot: () => ({ ssid: 'Station-9c3d', password: 'KPWM2345XY' }),
    clock: async () => ({ trusted: true, source: 'ntp', now: '2026-01-01T00:00:00.000Z' }),
    setClock: async (now) => {
      agent.asked.push(`clock ${now}`);
      return { trusted: true, source: 'person', now: new Date(now).toISOString() };
    },
    update: async (version) => {
      agent.asked.push(`update ${version ?? 'latest'}`);
      return agent.answer;
    },
    rollback: async ({ isPrompt } = { isPrompt: false }) => {
      agent.asked.push(isPrompt ? 'rollback promptly' : 'rollback');
      return agent.answer;
    },
    chooseAutoUpdate: async (choice) => {
      agent.asked.push(`auto-update ${choice}`);
      return { autoUpdate: choice ?? agent.statusNow.autoUpdate };
    },
    machine: async () => exampleMachine,
    restartMachine: async () => {
      agent.asked.push('restart machine');
      return { kind: 'started' };
    },
    restartService: async (service) => {
      agent.asked.push(`restart ${service}`);
      return agent.answer.kind === 'refused' ? agent.answer : { kind: 'started' };
    },
    network: async () => exampleNetwork(agent.statusNow),
    scanNetwork: async () => {
      agent.asked.push('scan');
      return exampleNetwork(agent.statusNow);
    },
    joinNetwork: ({ ssid, security, isHidden }) => {
      agent.asked.push(`join ${ssid} ${security} ${isHidden}`);
      return agent.joinAnswer;
    },
    openLog: async (query) => {
      agent.asked.push(`log ${query.service ?? 'all'} ${query.since ?? 'last'}`);
      await agent.beforeLog();
      return (onLine, signal) => agent.follower(onLine, signal);
    },
    readBackup: async () => ({ wifi: [], broker: null, release: null, missing: [] }),
    restoreBackup: async ({ broker }) => {
      agent.asked.push(`restore ${broker?.clients.length ?? 0}`);
      return { wifi: { added: 0, kept: 0 }, broker: broker !== null, release: 'none', missing: [] };
    },
    check: async () => {
      agent.asked.push('check');
      return { release: { ok: true, latestVersion: '1.1.0', updateAvailable: true }, firmware: { ok: false } };
    },
  };
  return agent;
}

const exampleMachine: Machine = {
  model: 'Raspberry Pi 4 Model B Rev 1.4',
  cores: 4,
  load: [0.5, 0.4, 0.3],
  memory: { totalBytes: 4_000_000_000, availableBytes: 2_000_000_000 },
  disks: [
    {
      path: '/',
      totalBytes: 32_000_000_000,
      freeBytes: 20_000_000_000,
      writtenBytesPerDay: null,
      lifeUsedPercent: null,
    },
  ],
  temperature: 48.3,
  power: null,
  uptimeSeconds: 3600,
  canRestart: true,
  now: '2026-01-01T00:00:00.000Z',
};

const exampleNetwork = ({ wifi }: Status): NetworkState => ({
  wifi,
  links: [{ interface: 'eth0', kind: 'ethernet', mac: '02:00:00:00:00:01', addresses: ['10.0.0.2'] }],
  blocker: null,
  networks: [{ ssid: '686f6d65', name: 'home', security: 'wpa2', signal: 60, isKnown: true }],
  scannedAt: null,
  joining: null,
  lastJoin: null,
  stationAddress: 'http://station.local/',
});

const exampleStatus: Status = {
  stationId: '0b7c2d2e-8a7f-4e7b-9b1e-0d4f1f2a9c3d',
  agentVersion: '0.1.0',
  startedAt: '2026-01-01T00:00:00.000Z',
  currentVersion: '1.0.0',
  latestVersion: '1.1.0',
  latestNotes: null,
  updateAvailable: true,
  updating: true,
  autoUpdate: true,
  lastCheckAt: '2026-01-01T00:00:10.000Z',
  lastError: null,
  operation: {
    id: 'operation-1',
    kind: 'update',
    phase: 'pulling',
    trigger: 'automatic',
    startedAt: '2026-01-01T00:00:11.000Z',
    version: '1.1.0',
    progress: { doneBytes: 25, totalBytes: 100, percent: 25 },
  },
  rollback: null,
  quarantined: [],
  history: [],
  stack: {
    services: [
      { name: 'backend', image: 'registry/backend:1.0.0', state: 'running', health: 'healthy' },
      { name: 'proxy', image: 'proxy "quoted"\\', state: 'exited', health: 'none' },
    ],
  },
  firmware: { cacheDir: '/srv/firmware-cache', lastCheckAt: null, lastError: null, items: [] },
  wifi: {
    mode: 'disabled',
    ssid: null,
    ip: null,
    signal: null,
    connectivity: null,
    hotspot: { active: false, ssid: null, ip: null, clients: 0 },
    watchdog: {
      state: 'DISABLED',
      since: '2026-01-01T00:00:00.000Z',
      attempts: 0,
      nextRetryAt: null,
      lastFailure: null,
    },
  },
  conditions: [
    { id: 'engine_unreachable', severity: 'fault', message: 'It does not answer.', since: '2026-01-01T00:00:00.000Z' },
  ],
};
