import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { cloudPath, maxCloudFrameBytes, tokenRejectedCode } from '@station/protocol/cloud-messages';
import { createLine } from './line.ts';

/** A message of a station; its `id` distinguishes it from repeats. */
type Heard = { method: string; params: Record<string, unknown>; at: number };

/**
 * What becomes of a frame. `cut`: the connection ends and the frame is lost; `cut_after`: it is dealt with, and then the connection ends; `stall`: it
 * and all that follows is lost both ways, pings too, and nobody is told. `delayMs` holds up what comes after it as well, `overtakenMs` does not.
 */
export type Fate = 'pass' | 'cut' | 'cut_after' | 'stall' | 'lose' | { delayMs: number } | { overtakenMs: number };
export type Direction = 'from_station' | 'to_station';

export type CloudConnection = {
  isOpen(): boolean;
  isAuthenticated(): boolean;
  /** Sends any frame as it is. */
  sendText(text: string): void;
  send(message: object): void;
  /** @throws (rejects) RpcRefusal, or when the connection ends first. @param id of the call; a new one when it is left out. */
  call(method: string, params?: unknown, id?: string | number): Promise<unknown>;
  close(code: number, reason?: string): void;
  /** Without a close message. */
  cut(): void;
  /** Reads no more: what the station sends piles up. */
  stall(): void;
};

/** The station answered with an error. */
export class RpcRefusal extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

export type ReferenceCloud = AsyncDisposable & {
  /** For CLOUD_HOST. */
  host: string;
  port: number;
  /** Each attempt to connect, milliseconds since the epoch. */
  attempts: number[];
  /** Each ping of a station, answered or not, milliseconds since the epoch. */
  pings: number[];
  /** Every message once, whatever a station sent twice, in the order of arrival. */
  heard: Heard[];
  /** Notifications that carry no `id`: states. */
  states: Heard[];
  /** How many came again. */
  repeated(): number;
  /** Plain messages and other frames of stations, newest last. */
  frames: { text: string; at: number }[];
  /** Those of them that are no messages of the protocol, newest last. */
  misfits: { text: string; at: number }[];
  /** Stations that wait for a person to claim them. */
  waiting(): { chipId: string; claimSecret: string }[];
  /**
   * Claims a station like a person who scanned the code. A station that shows the same code again has no token yet and gets it again.
   * @returns the token; null when no such station waits.
   */
  claim(chipId: string, claimSecret: string): string | null;
  /** A token as if the station had been claimed before. */
  issueToken(): string;
  revoke(token: string): void;
  restore(token: string): void;
  /** The authenticated connection, now or when it comes. */
  connection(): Promise<CloudConnection>;
  /** Number of connections that were authenticated so far. */
  logins(): number;
  options: CloudBehaviour;
};

export type CloudBehaviour = {
  /** Acknowledges messages with a `seq`, and announces that in auth_ok. */
  acks: boolean;
  /** Answers connections and log-ins at all. */
  isMute: boolean;
  /** Answers pings. */
  pongs: boolean;
  fate(direction: Direction, text: string): Fate;
  /** After auth_ok. */
  onAuthenticated?: (connection: CloudConnection) => void;
};

const usualBehaviour = (): CloudBehaviour => ({ acks: true, isMute: false, pongs: true, fate: () => 'pass' });
const keptFrames = 1_000;

/**
 * A small cloud that keeps to the protocol (README.md beside this), in memory, for development and for conformance; faults on demand.
 * @param tls PEM of key and certificate; without it plain text, for a loopback address.
 */
export async function startReferenceCloud(options: {
  host?: string;
  port?: number;
  tls?: { key: string; cert: string };
  behaviour?: Partial<CloudBehaviour>;
  onRequest?: (request: IncomingMessage, response: ServerResponse) => void;
}): Promise<ReferenceCloud> {
  const behaviour: CloudBehaviour = { ...usualBehaviour(), ...options.behaviour };
  const onRequest = options.onRequest ?? ((_request, response) => void response.writeHead(404).end());
  const server = options.tls ? createTlsServer(options.tls, onRequest) : createPlainServer(onRequest);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: maxCloudFrameBytes, autoPong: false });
  const tokens = new Map<string, boolean>();
  const waiting = new Map<string, { chipId: string; claimSecret: string; send(message: object): void }>();
  /** Tokens that no station has shown yet, by the code that they answer. */
  const promised = new Map<string, string>();
  const seen = new Set<string>();
  const state = { repeated: 0, logins: 0, current: null as CloudConnection | null };
  const waiters: ((connection: CloudConnection) => void)[] = [];
  const cloud = {
    attempts: [] as number[],
    pings: [] as number[],
    heard: [] as Heard[],
    states: [] as Heard[],
    frames: [] as ReferenceCloud['frames'],
    misfits: [] as ReferenceCloud['misfits'],
  };

  const hear = (method: string, params: Record<string, unknown>): void => {
    const at = Date.now();
    const { id } = params;
    if (typeof id !== 'string') {
      cloud.states.push({ method, params, at });
    } else if (seen.has(id)) {
      state.repeated += 1;
    } else {
      seen.add(id);
      cloud.heard.push({ method, params, at });
    }
  };

  const serve = (socket: WebSocket): void => {
    const pending = new Map<string | number, { resolve(value: unknown): void; reject(error: Error): void }>();
    let isDead = false;
    const cut = (): void => {
      isDead = true;
      socket.terminate();
    };
    const lines = { from_station: createLine(), to_station: createLine() };
    let isAuthenticated = false;
    let claimKey: string | null = null;

    /** Applies the fate of a frame. */
    const pass = (direction: Direction, text: string, deal: () => void): void => {
      // What came in one packet with a frame that was cut is lost with it.
      if (isDead) return;
      const fate = behaviour.fate(direction, text);
      if (fate === 'lose') return;
      if (fate === 'cut') return cut();
      if (fate === 'stall') {
        isDead = true;
        return void socket.pause();
      }
      if (typeof fate === 'object' && 'overtakenMs' in fate) return void setTimeout(deal, fate.overtakenMs).unref();
      const pauseMs = typeof fate === 'object' ? fate.delayMs : 0;
      lines[direction].pass(pauseMs, () => {
        deal();
        if (fate === 'cut_after') setImmediate(cut);
      });
    };
    const sendText = (text: string): void =>
      pass('to_station', text, () => socket.readyState === socket.OPEN && socket.send(text));
    const send = (message: object): void => sendText(JSON.stringify(message));
    const connection: CloudConnection = {
      isOpen: () => socket.readyState === socket.OPEN,
      isAuthenticated: () => isAuthenticated,
      sendText,
      send,
      call: (method, params, id = randomUUID()) =>
        new Promise((resolve, reject) => {
          if (socket.readyState !== socket.OPEN) return reject(new Error('The connection is gone.'));
          pending.set(id, { resolve, reject });
          send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
        }),
      close: (code, reason) => socket.close(code, reason),
      cut,
      stall: () => socket.pause(),
    };

    const logIn = (token: unknown): void => {
      if (typeof token !== 'string' || tokens.get(token) !== true) {
        send({ type: 'auth_error', reason: 'unknown token' });
        return socket.close(tokenRejectedCode, 'unknown token');
      }
      for (const [code, given] of promised) if (given === token) promised.delete(code);
      isAuthenticated = true;
      state.logins += 1;
      send({ type: 'auth_ok', acks: behaviour.acks });
      state.current = connection;
      for (const waiter of waiters.splice(0)) waiter(connection);
      behaviour.onAuthenticated?.(connection);
    };
    const onFrame = (text: string): void => {
      keep(cloud.frames, text);
      const frame = readFrame(text);
      if (frame === null) return keep(cloud.misfits, text);
      const { type, method, params, id } = frame;
      if (type === 'claim_handshake') {
        const { chipId, claimSecret } = frame as { chipId: string; claimSecret: string };
        claimKey = `${chipId} ${claimSecret}`;
        const stationToken = promised.get(claimKey);
        if (stationToken === undefined) waiting.set(claimKey, { chipId, claimSecret, send });
        else send({ type: 'claim_success', stationToken });
      } else if (type === 'station_auth') {
        logIn(frame['stationToken']);
      } else if (typeof method === 'string') {
        if (!isAuthenticated) return;
        const given = (params ?? {}) as Record<string, unknown>;
        hear(method, given);
        if (behaviour.acks && typeof given['seq'] === 'number') send({ type: 'ack', seq: given['seq'] });
      } else if (typeof id === 'string' || typeof id === 'number') {
        const call = pending.get(id);
        pending.delete(id);
        const error = frame['error'] as { code: number; message: string } | undefined;
        if (error) call?.reject(new RpcRefusal(error.code, error.message));
        else call?.resolve(frame['result']);
      }
    };
    socket.on('ping', (data) => {
      cloud.pings.push(Date.now());
      if (behaviour.pongs) socket.pong(data);
    });
    socket.on('message', (data) => {
      if (behaviour.isMute) return;
      const text = (data as Buffer).toString('utf8');
      pass('from_station', text, () => onFrame(text));
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      isAuthenticated = false;
      if (state.current === connection) state.current = null;
      // The same station may wait on another connection by now.
      if (claimKey !== null && waiting.get(claimKey)?.send === send) waiting.delete(claimKey);
      for (const { reject } of pending.values()) reject(new Error('The connection is gone.'));
    });
  };

  server.on('upgrade', (request: IncomingMessage, socket, head: Buffer) => {
    cloud.attempts.push(Date.now());
    if (request.url !== cloudPath) return void socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
    sockets.handleUpgrade(request, socket, head, serve);
  });
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    ...cloud,
    host: `${options.tls ? '' : 'ws://'}${options.tls ? 'localhost' : '127.0.0.1'}:${port}`,
    port,
    options: behaviour,
    repeated: () => state.repeated,
    logins: () => state.logins,
    waiting: () => [...waiting.values()].map(({ chipId, claimSecret }) => ({ chipId, claimSecret })),
    claim: (chipId, claimSecret) => {
      const key = `${chipId} ${claimSecret}`;
      const station = waiting.get(key);
      if (station === undefined) return null;
      waiting.delete(key);
      const stationToken = newToken(tokens);
      promised.set(key, stationToken);
      station.send({ type: 'claim_success', stationToken });
      return stationToken;
    },
    issueToken: () => newToken(tokens),
    revoke: (token) => void tokens.set(token, false),
    restore: (token) => void tokens.set(token, true),
    connection: () => {
      const { current } = state;
      if (current?.isOpen()) return Promise.resolve(current);
      return new Promise((resolve) => waiters.push(resolve));
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function newToken(tokens: Map<string, boolean>): string {
  const token = randomBytes(32).toString('base64url');
  tokens.set(token, true);
  return token;
}

function keep(frames: { text: string; at: number }[], text: string): void {
  frames.push({ text, at: Date.now() });
  if (frames.length > keptFrames) frames.shift();
}

/** @returns null for an invalid message: a station under development may send anything. */
function readFrame(text: string): Record<string, unknown> | null {
  try {
    const frame = JSON.parse(text) as Record<string, unknown>;
    const { type, method, params = {}, chipId, claimSecret } = frame;
    const isFit =
      type === 'claim_handshake'
        ? typeof chipId === 'string' && typeof claimSecret === 'string'
        : typeof method !== 'string' || (typeof params === 'object' && params !== null);
    return typeof frame === 'object' && isFit ? frame : null;
  } catch {
    return null;
  }
}
