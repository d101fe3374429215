import { setTimeout as delay } from 'node:timers/promises';
import type { Status, WifiStatus } from '@station/protocol/agent-api';
import type { NetworkJoinRequest, NetworkState } from '@station/protocol/agent-network';
import type { Machine } from './machine.ts';

export type EventLine = { time: string; level: string; event: string } & Record<string, unknown>;

/** The agent in the virtual station: built as the one that ships, on the process engine, under systemd with the unit that ships (`payload.ts`). */
export type StationAgent = {
  /** SSID of its hotspot. */
  hotspot: string;
  /** Starts the service; does not wait for more than its READY. */
  start(): Promise<void>;
  /** SIGTERM and the end of it. */
  stop(): Promise<void>;
  /** kill -9 of the agent only; systemd ends the rest and starts it again. */
  kill(): Promise<void>;
  /** Main process id; 0: none. */
  pid(): Promise<number>;
  wifiStatus(): Promise<WifiStatus>;
  status(): Promise<Status>;
  /** The network as the web app asks for it, through the backend. */
  network(): Promise<NetworkState>;
  /** Asks for a network as the web app does. @returns the status code. */
  joinFromApp(request: NetworkJoinRequest): Promise<number>;
  /** Every event of all its lives since then (ms of the station's clock), oldest first. */
  events(sinceMs: number): Promise<EventLine[]>;
  /** Whether the stack's proxy answers on port 80 of the station itself. */
  isProxyRunning(): Promise<boolean>;
  /** Bodies that reached the backend by POST /api/settings/agent. */
  credentials(): Promise<unknown[]>;
};

const stationId = '7f1f6c4e-3c5a-4b58-9a53-2f0f4f1f2a01';
const socket = '/run/station-agent/agent.sock';
const unit = 'station-agent.service';
const backendToken = 'a-token-of-the-virtual-station';
/** For curl: no password and no token is among its arguments. */
const request = '/run/vstation/request';

/**
 * Installs the agent as the installer does, and does not start it.
 * @param env more variables for its `.env`.
 */
export async function installAgent(machine: Machine, env: Record<string, string> = {}): Promise<StationAgent> {
  const variables = {
    STATION_ID: stationId,
    DATA_DIR: '/var/lib/station-agent',
    FIRMWARE_CACHE_DIR: '/var/lib/station-firmware',
    UPDATE_SERVER_URL: 'file:///payload/release/manifest.json',
    CONNECTIVITY_CHECK_URL: 'http://connectivity.test/generate_204',
    COMPOSE_PROJECT_PATH: '/srv/stack',
    BOOTSTRAP_ON_START: 'true',
    AUTO_UPDATE: 'false',
    HEALTHCHECK_URL: 'http://127.0.0.1:3000/api/health',
    STABILIZATION_SECONDS: '1',
    BACKEND_AGENT_TOKEN: backendToken,
    LOG_LEVEL: 'debug',
    ...env,
  };
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  await machine.writeFile('/opt/station-agent/.env', lines.join(''), { mode: 0o600 });
  await machine.must(`set -e
    groupadd -f -r station-agent
    mountpoint -q /opt/station-agent/station-agent || {
      touch /opt/station-agent/station-agent
      mount --bind /payload/station-agent /opt/station-agent/station-agent
    }
    mkdir -p /srv/stack && cp /payload/stack/docker-compose.yml /srv/stack/
    cp /payload/station-agent.service /etc/systemd/system/
    systemctl daemon-reload`);

  const ask = async <T>(path: string): Promise<T> =>
    JSON.parse(await machine.must(`curl -sSf -m 10 --unix-socket ${socket} http://localhost${path}`)) as T;
  const askAsBackend = async (path: string, more: readonly string[] = []): Promise<string> => {
    const header = `header = "Authorization: Bearer ${backendToken}"`;
    const lines = [header, `url = "http://localhost${path}"`, `unix-socket = "${socket}"`, ...more];
    await machine.writeFile(request, `${lines.join('\n')}\n`, { mode: 0o600 });
    return machine.must(`curl -sS -m 20 -K ${request}; rm -f ${request}`, { timeoutMs: 30_000 });
  };
  const pid = async (): Promise<number> => Number(await machine.must(`systemctl show -P MainPID ${unit}`));
  return {
    hotspot: variables['HOTSPOT_SSID' as keyof typeof variables] ?? `Station-${stationId.slice(-4)}`,
    start: async () => void (await machine.must(`systemctl start ${unit}`, { timeoutMs: 130_000 })),
    stop: async () => void (await machine.must(`systemctl stop ${unit}`)),
    kill: async () => void (await machine.must(`systemctl kill -s KILL --kill-who=main ${unit}`)),
    pid,
    wifiStatus: () => ask<WifiStatus>('/wifi/status'),
    status: () => ask<Status>('/status'),
    network: async () => JSON.parse(await askAsBackend('/network')) as NetworkState,
    joinFromApp: async (body) => {
      const quoted = JSON.stringify(JSON.stringify(body));
      const lines = [`data = ${quoted}`, 'header = "Content-Type: application/json"', 'write-out = "\\n%{http_code}"'];
      return Number((await askAsBackend('/network/join', lines)).split('\n').at(-1));
    },
    events: async (sinceMs) => {
      // The journal is long, and reading it all takes an emulated processor seconds.
      const lines = await machine.journal({ unit, args: `-o cat --since=@${Math.floor(sinceMs / 1000)}` });
      return parseEvents(lines).filter(({ time }) => Date.parse(time) >= sinceMs);
    },
    isProxyRunning: async () =>
      (await machine.run('curl -s -m 5 http://127.0.0.1/ | grep -q "this is the proxy"', { timeoutMs: 10_000 }))
        .code === 0,
    credentials: async () => {
      const text = (await machine.readFile('/run/vstation/credentials')) ?? '';
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as unknown);
    },
  };
}

/** The journal also has what systemd says about the unit. */
function parseEvents(journal: string): EventLine[] {
  return journal
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as EventLine);
}

/**
 * Asks until the answer is other than null, false or undefined. Pauses longer than an answer takes, so that most of the emulated
 * processor is left to what is waited for, or `pauseMs`, for what passes quickly.
 * @returns the answer and how long it took, in ms. @throws after `timeoutMs`, with the text of `describe`.
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | null | undefined | false>,
  options: { timeoutMs: number; pauseMs?: number; describe?: () => Promise<string> },
): Promise<{ value: T; ms: number }> {
  const started = performance.now();
  let cause: unknown;
  for (;;) {
    const asked = performance.now();
    try {
      const value = await probe();
      if (value !== null && value !== undefined && value !== false) return { value, ms: performance.now() - started };
    } catch (error) {
      // Something is being started or stopped.
      cause = error;
    }
    if (performance.now() - started > options.timeoutMs) {
      const description = (await options.describe?.().catch(() => '')) ?? '';
      throw new Error(`waited ${options.timeoutMs} ms in vain for ${what}\n${description}`, { cause });
    }
    await delay(options.pauseMs ?? Math.min(Math.max(250, 3 * (performance.now() - asked)), 3000));
  }
}
