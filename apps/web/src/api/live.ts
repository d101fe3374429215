import ReconnectingWebSocket, { type CloseEvent } from 'partysocket/ws';
import type { HelloMessage, ServerMessage } from '@station/protocol/socket';
import { createStore, type Store, type WritableStore } from './store.ts';

export type LiveState = {
  /** `live` once the handshake is done; `connecting` before the first answer; `down` while it reconnects automatically. */
  link: 'off' | 'connecting' | 'live' | 'down';
  /** Whether the backend is connected to the agent; null until it reports that. */
  agent: boolean | null;
  hello: HelloMessage | null;
};

export type LiveService = {
  state: Store<LiveState>;
  open(): void;
  close(): void;
  /** Reconnects at once instead of waiting for the next attempt, and pings a link that looks open. */
  nudge(): void;
  /** Calls `listener` with every message, until the returned function is called. */
  onMessage(listener: (message: ServerMessage) => void): () => void;
};

const pingEveryMs = 10_000;
const silenceMs = 6_000;
const reauthBeforeMs = 60_000;
const unauthorized = 4401;
const shut: LiveState = { link: 'off', agent: null, hello: null };

type LiveParts = {
  url: () => string;
  token: () => Promise<string>;
  tokenRefused: (token: string) => void;
  stationNow: () => number;
  onServerTime: (iso: string) => void;
};

/** The one WebSocket of the page (contracts, section 10). */
export function createLiveService(parts: LiveParts): LiveService {
  const state = createStore<LiveState>(shut);
  const link: Link = { ...parts, state, listeners: new Set(), socket: null, sentToken: null };
  return {
    state,
    open: () => open(link),
    close: () => {
      const closing = link.socket;
      link.socket = null;
      stopTimers(link);
      closing?.close();
      state.set(shut);
    },
    nudge: () => {
      const { socket } = link;
      if (!socket) return;
      if (state.get().link === 'live') ping(link, socket);
      else if (socket.readyState !== socket.OPEN) socket.reconnect();
    },
    onMessage: (listener) => {
      link.listeners.add(listener);
      return () => void link.listeners.delete(listener);
    },
  };
}

type Timer = ReturnType<typeof setTimeout>;

type Link = LiveParts & {
  state: WritableStore<LiveState>;
  listeners: Set<(message: ServerMessage) => void>;
  /** Null while the service is closed. It reconnects automatically. */
  socket: ReconnectingWebSocket | null;
  sentToken: string | null;
  pingTimer?: Timer | undefined;
  /** Runs while an answer to a ping is due. */
  silenceTimer?: Timer | undefined;
  reauthTimer?: Timer | undefined;
};

function open(link: Link): void {
  if (link.socket) return;
  patch(link, { link: 'connecting' });
  const socket = new ReconnectingWebSocket(link.url, null, {
    minReconnectionDelay: 400,
    maxReconnectionDelay: 4_000,
    reconnectionDelayGrowFactor: 1.4,
    minUptime: 2_000,
    connectionTimeout: 5_000,
    maxEnqueuedMessages: 0,
  });
  link.socket = socket;
  socket.addEventListener('open', () => void authenticate(link, socket));
  socket.addEventListener('message', (event) => receive(link, socket, event.data));
  socket.addEventListener('close', (event) => link.socket === socket && handleClose(link, event));
}

async function authenticate(link: Link, socket: ReconnectingWebSocket): Promise<void> {
  try {
    const token = await link.token();
    link.sentToken = token;
    if (link.socket === socket && socket.readyState === socket.OPEN)
      socket.send(JSON.stringify({ type: 'auth', token }));
  } catch {
    // There is no token now: the server closes the link at its deadline and the next attempt asks again.
  }
}

function receive(link: Link, socket: ReconnectingWebSocket, data: unknown): void {
  clearTimeout(link.silenceTimer);
  link.silenceTimer = undefined;
  const message = parse(data);
  if (!message) return;
  link.onServerTime(message.at);
  if (message.type === 'hello') completeHandshake(link, socket, message);
  if (message.type === 'agent_link') patch(link, { agent: message.connected });
  for (const listener of link.listeners) listener(message);
}

function completeHandshake(link: Link, socket: ReconnectingWebSocket, hello: HelloMessage): void {
  patch(link, { link: 'live', hello });
  clearInterval(link.pingTimer);
  link.pingTimer = setInterval(() => ping(link, socket), pingEveryMs);
  clearTimeout(link.reauthTimer);
  const leftMs = Date.parse(hello.tokenExpiresAt) - link.stationNow() - reauthBeforeMs;
  const reauthenticate = (): void => {
    if (link.sentToken !== null) link.tokenRefused(link.sentToken);
    void authenticate(link, socket);
  };
  link.reauthTimer = setTimeout(reauthenticate, Math.max(leftMs, 1_000));
}

function ping(link: Link, socket: ReconnectingWebSocket): void {
  if (socket.readyState !== socket.OPEN || link.silenceTimer !== undefined) return;
  socket.send(JSON.stringify({ type: 'ping' }));
  // A connection that died silently (a phone changed networks) never fires `close`.
  link.silenceTimer = setTimeout(() => socket.reconnect(), silenceMs);
}

function handleClose(link: Link, { code }: CloseEvent): void {
  stopTimers(link);
  if (code === unauthorized && link.sentToken !== null) link.tokenRefused(link.sentToken);
  patch(link, { link: 'down', agent: null });
}

function stopTimers(link: Link): void {
  clearInterval(link.pingTimer);
  clearTimeout(link.silenceTimer);
  clearTimeout(link.reauthTimer);
  link.silenceTimer = undefined;
}

const patch = ({ state }: Link, change: Partial<LiveState>): void => state.set({ ...state.get(), ...change });

function parse(data: unknown): ServerMessage | null {
  if (typeof data !== 'string') return null;
  try {
    const value = JSON.parse(data) as Partial<ServerMessage> | null;
    return typeof value?.type === 'string' && typeof value.at === 'string' ? (value as ServerMessage) : null;
  } catch {
    return null;
  }
}
