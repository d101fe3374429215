import ReconnectingWebSocket, { type CloseEvent } from 'partysocket/ws';
import type { HelloMessage, ServerMessage } from '@station/protocol/socket';
import { createStore, type Store } from './store.ts';

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
  /** Tries at once instead of waiting for the next attempt, and asks whether a link that looks open is. */
  nudge(): void;
  onMessage(listener: (message: ServerMessage) => void): () => void;
};

const pingEveryMs = 10_000;
const silenceMs = 6_000;
const reauthBeforeMs = 60_000;
const unauthorized = 4401;
const shut: LiveState = { link: 'off', agent: null, hello: null };

/** The one WebSocket of the page (contracts, section 10). */
export function createLiveService(deps: {
  url: () => string;
  token: () => Promise<string>;
  tokenRefused: (token: string) => void;
  stationNow: () => number;
  onServerTime: (iso: string) => void;
}): LiveService {
  const state = createStore<LiveState>(shut);
  const listeners = new Set<(message: ServerMessage) => void>();
  let socket: ReconnectingWebSocket | null = null;
  let sentToken: string | null = null;
  let pingTimer: ReturnType<typeof setInterval> | undefined;
  let silenceTimer: ReturnType<typeof setTimeout> | undefined;
  let reauthTimer: ReturnType<typeof setTimeout> | undefined;

  const patch = (change: Partial<LiveState>): void => state.set({ ...state.get(), ...change });
  const stopTimers = (): void => {
    clearInterval(pingTimer);
    clearTimeout(silenceTimer);
    clearTimeout(reauthTimer);
    silenceTimer = undefined;
  };
  const authenticate = async (on: ReconnectingWebSocket): Promise<void> => {
    try {
      sentToken = await deps.token();
      if (socket === on && on.readyState === on.OPEN) on.send(JSON.stringify({ type: 'auth', token: sentToken }));
    } catch {
      // No token to be had now: the server closes the link at its deadline and the next attempt asks again.
    }
  };
  const ping = (on: ReconnectingWebSocket): void => {
    if (on.readyState !== on.OPEN || silenceTimer !== undefined) return;
    on.send(JSON.stringify({ type: 'ping' }));
    // A connection that died silently (a phone changed networks) never fires `close`.
    silenceTimer = setTimeout(() => on.reconnect(), silenceMs);
  };
  const completeHandshake = (on: ReconnectingWebSocket, hello: HelloMessage): void => {
    patch({ link: 'live', hello });
    clearInterval(pingTimer);
    pingTimer = setInterval(() => ping(on), pingEveryMs);
    clearTimeout(reauthTimer);
    const left = Date.parse(hello.tokenExpiresAt) - deps.stationNow() - reauthBeforeMs;
    reauthTimer = setTimeout(
      () => {
        if (sentToken !== null) deps.tokenRefused(sentToken);
        void authenticate(on);
      },
      Math.max(left, 1_000),
    );
  };
  const receive = (on: ReconnectingWebSocket, data: unknown): void => {
    clearTimeout(silenceTimer);
    silenceTimer = undefined;
    const message = parse(data);
    if (!message) return;
    deps.onServerTime(message.at);
    if (message.type === 'hello') completeHandshake(on, message);
    if (message.type === 'agent_link') patch({ agent: message.connected });
    for (const listener of listeners) listener(message);
  };
  const lost = (event: CloseEvent): void => {
    stopTimers();
    if (event.code === unauthorized && sentToken !== null) deps.tokenRefused(sentToken);
    patch({ link: 'down', agent: null });
  };

  return {
    state,
    open: () => {
      if (socket) return;
      patch({ link: 'connecting' });
      const opened = new ReconnectingWebSocket(deps.url, null, {
        minReconnectionDelay: 400,
        maxReconnectionDelay: 4_000,
        reconnectionDelayGrowFactor: 1.4,
        minUptime: 2_000,
        connectionTimeout: 5_000,
        maxEnqueuedMessages: 0,
      });
      socket = opened;
      opened.addEventListener('open', () => void authenticate(opened));
      opened.addEventListener('message', (event) => receive(opened, event.data));
      opened.addEventListener('close', (event) => socket === opened && lost(event));
    },
    close: () => {
      const closing = socket;
      socket = null;
      stopTimers();
      closing?.close();
      state.set(shut);
    },
    nudge: () => {
      if (!socket) return;
      if (state.get().link === 'live') ping(socket);
      else if (socket.readyState !== socket.OPEN) socket.reconnect();
    },
    onMessage: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function parse(data: unknown): ServerMessage | null {
  if (typeof data !== 'string') return null;
  try {
    const value = JSON.parse(data) as Partial<ServerMessage> | null;
    return typeof value?.type === 'string' && typeof value.at === 'string' ? (value as ServerMessage) : null;
  } catch {
    return null;
  }
}
