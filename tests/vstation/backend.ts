import { once } from 'node:events';
import WebSocket from 'ws';
import { until } from './agent.ts';
import type { Machine } from './machine.ts';

/** The backend as it ships, in the virtual station: without privileges, with SQLite, its own broker and its BLE helper. */
export type StationBackend = {
  /** Base URL, from here. */
  url: string;
  /** The owner's access token. */
  token: string;
  /** A request of the owner; the body of the answer is JSON, or null. */
  ask<T = unknown>(method: string, path: string, body?: unknown): Promise<{ status: number; body: T }>;
  /** As the agent does after a join. */
  tellWifi(wifi: { ssid: string; password: string }): Promise<void>;
  /** A browser with the web app open. */
  watch(): Promise<Watcher>;
};

export type Watcher = Disposable & {
  /** Every message, oldest first. */
  messages: readonly SocketMessage[];
  next(what: string, isIt: (message: SocketMessage) => boolean, options: Waiting): Promise<SocketMessage>;
};
type Waiting = { from: number; timeoutMs?: number };
export type SocketMessage = { type: string } & Record<string, unknown>;

export const backendPort = 3000;
const unit = 'vstation-backend';
const setupCode = 'VSTATION2026';
const agentToken = 'the-agent-of-the-virtual-station';
const owner = { email: 'olena@example.org', password: 'correct horse battery', name: 'Olena' };

/** Starts it and creates the owner. @param env more variables; it must say where devices find the broker. */
export async function startBackend(machine: Machine, env: Record<string, string>): Promise<StationBackend> {
  const variables = {
    HOST: '0.0.0.0',
    PORT: String(backendPort),
    MQTT_HOST: '0.0.0.0',
    DATA_DIR: '/var/lib/station',
    STATION_CODE: setupCode,
    AGENT_TOKEN: agentToken,
    BLE_ADAPTER: 'hci0',
    LOG_LEVEL: 'debug',
    ...env,
  };
  const settings = Object.entries(variables).map(([name, value]) => `--setenv='${name}=${value}'`);
  // A user whom the bus knows: the machine has no libnss-systemd, which dynamic users need.
  const unprivileged = '-p User=nobody -p Group=nogroup -p StateDirectory=station';
  await machine.must(
    `systemd-run -q --unit=${unit} ${unprivileged} ${settings.join(' ')} /payload/node /payload/backend/station-backend.mjs`,
  );
  const url = `http://127.0.0.1:${machine.forwardedPort(backendPort)}`;
  const isUp = async (): Promise<boolean> => (await fetch(`${url}/api/health`)).ok;
  const describe = (): Promise<string> => machine.journal({ unit });
  await until('the backend', isUp, { timeoutMs: 90_000, describe });
  const send = async <T>(method: string, path: string, body: unknown, token?: string) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T };
  };
  const session = await send<{ accessToken: string }>('POST', '/api/auth/setup', { code: setupCode, ...owner });
  if (session.status !== 201) throw new Error(`no owner: ${JSON.stringify(session)}`);
  const { accessToken } = session.body;
  return {
    url,
    token: accessToken,
    ask: (method, path, body) => send(method, path, body, accessToken),
    tellWifi: async (wifi) => {
      const { status, body } = await send('POST', '/api/settings/agent', { wifi }, agentToken);
      if (status !== 204) throw new Error(`the backend refused the Wi-Fi: ${JSON.stringify(body)}`);
    },
    watch: () => watch(url, accessToken),
  };
}

/** Ends it and forgets its data. Idempotent. */
export async function removeBackend(machine: Machine): Promise<void> {
  await machine.must(`systemctl stop ${unit} 2>/dev/null; rm -rf /var/lib/station; true`);
}

async function watch(url: string, token: string): Promise<Watcher> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`);
  const messages: SocketMessage[] = [];
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString()) as SocketMessage));
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'auth', token }));
  const next: Watcher['next'] = async (what, isIt, { from, timeoutMs = 90_000 }) => {
    const describe = (): Promise<string> =>
      Promise.resolve(
        messages
          .slice(-15)
          .map((one) => JSON.stringify(one))
          .join('\n'),
      );
    const find = (): Promise<SocketMessage | undefined> => Promise.resolve(messages.slice(from).find(isIt));
    return (await until(what, find, { timeoutMs, pauseMs: 20, describe })).value;
  };
  await next('hello', ({ type }) => type === 'hello', { from: 0 });
  return { messages, next, [Symbol.dispose]: () => socket.terminate() };
}
