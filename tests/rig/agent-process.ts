import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Status } from '@station/protocol/agent-api';
import { agentExecutable, buildForTests } from './build.ts';
import { waitFor } from './program.ts';
import type { SmallRig } from './small-rig.ts';
import type { Workspace } from './workspace.ts';

type AgentEventLine = { time: string; level: string; event: string } & Record<string, unknown>;

/** As much of `journal.json` as says what is installed and under way. */
type JournalFile = { journal: { operation: object | null; installed: { version: string } | null } };

type AgentAnswer = { status: number; body: Record<string, unknown>; headers: Record<string, unknown> };

/** A real agent as its service manager runs it: a process of its own that can be killed and started again. */
export type AgentProcess = AsyncDisposable & {
  dataDir: string;
  /** FIRMWARE_CACHE_DIR, unless the environment names another. */
  cacheDir: string;
  socketPath: string;
  /** Event lines of all its runs, oldest first. */
  events: AgentEventLine[];
  /** All its output, to search for secrets. */
  output(): string;
  start(): Promise<void>;
  /** Of its latest run. */
  pid(): number | undefined;
  /** kill -9 of the agent and its children, as systemd does with a control group. */
  kill(): Promise<void>;
  /** Sends SIGTERM and waits for the end. @returns exit code. */
  stop(): Promise<number | null>;
  call(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<AgentAnswer>;
  status(): Promise<Status>;
  /** Waits for an event that is not older than `after` lines. */
  event(name: string, options?: { after?: number; timeoutMs?: number }): Promise<AgentEventLine>;
  /** Waits until no operation is under way and the journal holds none. */
  idle(timeoutMs?: number): Promise<Status>;
  readState(name: string): Promise<string | null>;
};

/** The agent from its sources: for unit tests, which build nothing. */
export const agentFromSources: readonly [string, ...string[]] = [
  process.execPath,
  join(import.meta.dirname, '../../apps/agent/src/main.ts'),
];

/** The agent on the process engine (`simulators/station`): for stories that need no Docker. */
export const agentWithoutDocker: readonly [string, ...string[]] = [
  process.execPath,
  join(import.meta.dirname, '../../simulators/station/agent-main.ts'),
];
/** An update has a health gate and may be rolled back. */
const patienceMs = 300_000;
const stationId = '7f1f6c4e-3c5a-4b58-9a53-2f0f4f1f2a01';

/** Environment of an agent that manages a rig's small stack; health gates of half a minute, no polling by default. */
export function agentEnv(
  rig: Pick<SmallRig, 'engine' | 'releases' | 'stack'>,
  more: Record<string, string> = {},
): Record<string, string> {
  return {
    ...rig.engine.env,
    STATION_ID: stationId,
    UPDATE_SERVER_URL: rig.releases.manifestUrl,
    COMPOSE_PROJECT_PATH: rig.stack.folder,
    HEALTHCHECK_URL: rig.stack.healthUrl,
    AUTO_UPDATE: 'false',
    STABILIZATION_SECONDS: '1',
    HEALTHCHECK_TIMEOUT_SECONDS: '30',
    CHECK_INTERVAL_MINUTES: '60',
    LOG_LEVEL: 'debug',
    PORT: '0',
    ...more,
  };
}

/**
 * Makes an agent with its own state folder in the workspace; it does not run before `start`.
 * @param command program and arguments; when not given, the executable that ships, with the environment of its unit.
 */
export async function createAgentProcess(
  workspace: Workspace,
  env: Record<string, string>,
  name = 'agent',
  command?: readonly [string, ...string[]],
): Promise<AgentProcess> {
  if (command === undefined) await buildForTests('agent');
  const [program, ...args] = command ?? [agentExecutable];
  const baseEnv = command === undefined ? await unitEnvironment() : {};
  const dataDir = join(await workspace.subfolder(name), 'data');
  const cacheDir = join(workspace.folder, name, 'firmware-cache');
  const socketPath = env['AGENT_SOCKET'] ?? join(workspace.folder, name, 'agent.sock');
  const events: AgentEventLine[] = [];
  let output = '';
  let child: ChildProcess | null = null;

  const event: AgentProcess['event'] = async (wanted, { after = 0, timeoutMs = patienceMs } = {}) => {
    const found = () => events.slice(after).find((line) => line.event === wanted);
    await waitFor(`event ${wanted}`, () => found() !== undefined, timeoutMs);
    return found() as AgentEventLine;
  };
  const endGroup = (signal: NodeJS.Signals): void => {
    try {
      if (child?.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // It has ended already.
    }
  };
  const call: AgentProcess['call'] = (method, path, options = {}) => callSocket(socketPath, method, path, options);
  const agent: AgentProcess = {
    dataDir,
    cacheDir,
    socketPath,
    events,
    output: () => output,
    start: async () => {
      const before = events.length;
      const started = spawn(program, args, {
        // Tests never change the network of the machine they run on.
        env: {
          ...baseEnv,
          FIRMWARE_CACHE_DIR: cacheDir,
          WIFI_WATCHDOG: 'false',
          ...env,
          DATA_DIR: dataDir,
          AGENT_SOCKET: socketPath,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      child = started;
      started.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
      createInterface({ input: started.stdout }).on('line', (line) => {
        output += `${line}\n`;
        events.push(JSON.parse(line) as AgentEventLine);
      });
      await Promise.race([
        event('agent_ready', { after: before }),
        once(started, 'exit').then(([code]) =>
          Promise.reject(new Error(`the agent ended with ${String(code)}:\n${output.slice(-2000)}`)),
        ),
      ]);
    },
    pid: () => child?.pid,
    kill: async () => {
      const ended = child && child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
      const groups = await childGroups(child?.pid);
      endGroup('SIGKILL');
      for (const group of groups) killGroup(group);
      await ended;
    },
    stop: async () => {
      if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
      const ended = once(child, 'exit') as Promise<[number | null]>;
      child.kill('SIGTERM');
      return (await ended)[0];
    },
    call,
    status: async () => {
      const { status, body } = await call('GET', '/status');
      if (status !== 200) throw new Error(`GET /status answered ${status}`);
      return body as unknown as Status;
    },
    event,
    idle: async (timeoutMs = patienceMs) => {
      let last: Status | null = null;
      await waitFor(
        'an idle agent',
        async () => {
          last = await agent.status().catch(() => null);
          const text = await agent.readState('journal.json');
          if (text === null) return false;
          const { operation, installed } = (JSON.parse(text) as JournalFile).journal;
          // A journal is on disk a moment before the agent goes by it.
          return last?.operation === null && operation === null && last.currentVersion === (installed?.version ?? null);
        },
        timeoutMs,
      );
      return last as unknown as Status;
    },
    readState: (file) => readFile(join(dataDir, file), 'utf8').catch(() => null),
    [Symbol.asyncDispose]: async () => {
      await agent.kill();
    },
  };
  return workspace.own(agent);
}

/** The environment that the shipped unit sets. */
export async function unitEnvironment(): Promise<Record<string, string>> {
  const unit = await readFile(join(import.meta.dirname, '../../deploy/station-agent.service'), 'utf8');
  const lines = unit.match(/^Environment=.*$/gm) ?? [];
  const pairs = lines.flatMap((line) => line.slice('Environment='.length).split(' '));
  return Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string]));
}

/** Process groups of a process's children: each program that the agent starts leads one. */
async function childGroups(pid: number | undefined): Promise<number[]> {
  if (pid === undefined) return [];
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text
    .split(' ')
    .map(Number)
    .filter((child) => child > 0);
}

function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

function callSocket(
  socketPath: string,
  method: string,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> },
): Promise<AgentAnswer> {
  const payload = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        socketPath,
        method,
        path,
        agent: false,
        headers: { host: 'localhost', ...(payload === null ? {} : { 'content-type': 'application/json' }), ...headers },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
            headers: response.headers,
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(payload ?? undefined);
  });
}
