import ReconnectingWebSocket, { type CloseEvent } from 'partysocket/ws';
import type { HelloMessage, ServerMessage } from '@station/protocol/socket';
import { beatMs, createHeartbeat, type Heartbeat } from './heartbeat.ts';
import { createStore, type Store, type WritableStore } from './store.ts';

/** When it was noticed, and when the latest message had come; epoch milliseconds here. */
type Silence = { noticedAt: number; heardAt: number };

export type LiveState = {
  /** `live` once the handshake is done; `connecting` before the first answer; `down` while it reconnects automatically. */
  link: 'off' | 'connecting' | 'live' | 'down';
  /** Whether the backend is connected to the agent; null until it reports that. */
  agent: boolean | null;
  /** The station did not answer in time; null: it does. */
  silence: Silence | null;
  hello: HelloMessage | null;
};

export type LiveService = {
  state: Store<LiveState>;
  open(): void;
  close(): void;
  /** Reconnects at once instead of waiting for the next attempt, and pings a link that looks open. */
  nudge(): void;
  /** The browser lost its network: the station counts as silent until it is heard again. */
  doubt(): void;
  /** Calls `listener` with every message, until the returned function is called. */
  onMessage(listener: (message: ServerMessage) => void): () => void;
};

const reauthBeforeMs = 60_000;
const unauthorized = 4401;
const shut: LiveState = { link: 'off', agent: null, silence: null, hello: null };

type LiveParts = {
  url: () => string;
  token: () => Promise<string>;
  tokenRefused: (token: string) => void;
  stationNow: () => number;
  onServerTime: (iso: string) => void;
  /** Whether nobody sees the page. */
  isHidden: () => boolean;
};

/** The one WebSocket of the page (contracts, section 10). */
export function createLiveService(parts: LiveParts): LiveService {
  const state = createStore<LiveState>(shut);
  const link: Link = { ...parts, state, listeners: new Set(), socket: null, sentToken: null, heardAt: 0 };
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
      if (state.get().link === 'live') ping(socket);
      else if (socket.readyState !== socket.OPEN) socket.reconnect();
    },
    doubt: () => {
      const { socket } = link;
      if (!socket || state.get().link !== 'live') return;
      // A station on this very machine answers all the same.
      noticeSilence(link);
      ping(socket);
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
  /** Epoch milliseconds of the latest message. */
  heardAt: number;
  heartbeat?: Heartbeat | undefined;
  beatTimer?: Timer | undefined;
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
  link.heardAt = Date.now();
  link.heartbeat?.heard();
  if (link.state.get().silence !== null) patch(link, { silence: null });
  const message = parse(data);
  if (!message) return;
  link.onServerTime(message.at);
  if (message.type === 'hello') completeHandshake(link, socket, message);
  if (message.type === 'agent_link') patch(link, { agent: message.connected });
  for (const listener of link.listeners) listener(message);
}

function completeHandshake(link: Link, socket: ReconnectingWebSocket, hello: HelloMessage): void {
  patch(link, { link: 'live', hello });
  clearInterval(link.beatTimer);
  link.heartbeat = createHeartbeat({ ping: () => ping(socket), isHidden: link.isHidden });
  link.beatTimer = setInterval(() => beat(link, socket), beatMs);
  clearTimeout(link.reauthTimer);
  const leftMs = Date.parse(hello.tokenExpiresAt) - link.stationNow() - reauthBeforeMs;
  const reauthenticate = (): void => {
    if (link.sentToken !== null) link.tokenRefused(link.sentToken);
    void authenticate(link, socket);
  };
  link.reauthTimer = setTimeout(reauthenticate, Math.max(leftMs, 1_000));
}

function beat(link: Link, socket: ReconnectingWebSocket): void {
  const state = link.heartbeat?.beat();
  if (state === 'silent') noticeSilence(link);
  if (state !== 'dead') return;
  clearInterval(link.beatTimer);
  socket.reconnect();
}

function noticeSilence(link: Link): void {
  if (link.state.get().silence === null) patch(link, { silence: { noticedAt: Date.now(), heardAt: link.heardAt } });
}

function ping(socket: ReconnectingWebSocket): void {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify({ type: 'ping' }));
}

function handleClose(link: Link, { code }: CloseEvent): void {
  stopTimers(link);
  if (code === unauthorized && link.sentToken !== null) link.tokenRefused(link.sentToken);
  patch(link, { link: 'down', agent: null });
}

function stopTimers(link: Link): void {
  clearInterval(link.beatTimer);
  clearTimeout(link.reauthTimer);
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
