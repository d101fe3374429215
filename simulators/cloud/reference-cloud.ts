import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { cloudPath, maxCloudFrameBytes, tokenRejectedCode } from '@station/protocol/cloud-messages';
import { createFrameQueue, type FrameQueue } from './frame-queue.ts';

/** A message of a station. Its `id` distinguishes it from repetitions. */
type ReceivedMessage = { method: string; params: Record<string, unknown>; at: number };
type ReceivedFrame = { text: string; at: number };

/**
 * What happens to a frame. `cut`: it is lost and the connection ends; `cut_after`: it is delivered, then the connection ends.
 * `stall`: it and all later frames and pings are lost in both directions. `delayMs` also delays later frames, `overtakenMs` does not.
 */
export type FrameAction =
  | 'pass'
  | 'cut'
  | 'cut_after'
  | 'stall'
  | 'lose'
  | { delayMs: number }
  | { overtakenMs: number };
export type Direction = 'from_station' | 'to_station';

export type CloudConnection = {
  isOpen(): boolean;
  isAuthenticated(): boolean;
  /** Sends any text as a frame. */
  sendText(text: string): void;
  send(message: object): void;
  /** @throws (rejects) RpcRefusal, or when the connection ends first. @param id of the call; default: a new one. */
  call(method: string, params?: unknown, id?: string | number): Promise<unknown>;
  close(code: number, reason?: string): void;
  /** Ends the connection without a close message. */
  cut(): void;
  /** Stops reading, so that the data of the station accumulates. */
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
  /** Value for CLOUD_HOST. */
  host: string;
  port: number;
  /** Each attempt to connect, milliseconds since the epoch. */
  attempts: number[];
  /** Each ping of a station, answered or not, milliseconds since the epoch. */
  pings: number[];
  /** Every message once, without repetitions, in the order of arrival. */
  received: ReceivedMessage[];
  /** Notifications without an `id`: states. */
  states: ReceivedMessage[];
  /** Number of repeated messages. */
  repeated(): number;
  /** All frames of stations, newest last. */
  frames: ReceivedFrame[];
  /** The frames that are not messages of the protocol, newest last. */
  invalidFrames: ReceivedFrame[];
  /** Stations that wait for a person to claim them. */
  waiting(): { chipId: string; claimSecret: string }[];
  /**
   * Claims a station, as a person does who scans the code. A station that sends the same code again gets the same token again.
   * @returns the token; null when no such station waits.
   */
  claim(chipId: string, claimSecret: string): string | null;
  /** Creates a token as if the station had been claimed before. */
  issueToken(): string;
  revoke(token: string): void;
  restore(token: string): void;
  /** The current authenticated connection, or the next one. */
  connection(): Promise<CloudConnection>;
  /** Number of connections that were authenticated so far. */
  logins(): number;
  options: CloudBehaviour;
};

export type CloudBehaviour = {
  /** Acknowledges messages with a `seq`, and announces that in auth_ok. */
  acks: boolean;
  /** Ignores all messages, also logins. */
  isMute: boolean;
  /** Answers pings. */
  pongs: boolean;
  frameAction(direction: Direction, text: string): FrameAction;
  /** Called after auth_ok. */
  onAuthenticated?: (connection: CloudConnection) => void;
};

const defaultBehaviour = (): CloudBehaviour => ({ acks: true, isMute: false, pongs: true, frameAction: () => 'pass' });
const keptFrames = 1_000;

type CloudState = {
  behaviour: CloudBehaviour;
  /** Token → whether it is valid. */
  tokens: Map<string, boolean>;
  waiting: Map<string, { chipId: string; claimSecret: string; send(message: object): void }>;
  /** Tokens that no station has used yet, by the code of the claim. */
  unusedTokens: Map<string, string>;
  seenIds: Set<string>;
  waiters: ((connection: CloudConnection) => void)[];
  repeated: number;
  logins: number;
  current: CloudConnection | null;
  records: Pick<ReferenceCloud, 'attempts' | 'pings' | 'received' | 'states' | 'frames' | 'invalidFrames'>;
};

/**
 * A small cloud that follows the protocol (see README.md), in memory, for development and conformance checks, with faults on demand.
 * @param options.tls PEM of key and certificate; default: plain text, for a loopback address.
 */
export async function startReferenceCloud(options: {
  host?: string;
  port?: number;
  tls?: { key: string; cert: string };
  behaviour?: Partial<CloudBehaviour>;
  onRequest?: (request: IncomingMessage, response: ServerResponse) => void;
}): Promise<ReferenceCloud> {
  const onRequest = options.onRequest ?? ((_request, response) => void response.writeHead(404).end());
  const server = options.tls ? createTlsServer(options.tls, onRequest) : createPlainServer(onRequest);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: maxCloudFrameBytes, autoPong: false });
  const cloud: CloudState = {
    behaviour: { ...defaultBehaviour(), ...options.behaviour },
    tokens: new Map(),
    waiting: new Map(),
    unusedTokens: new Map(),
    seenIds: new Set(),
    waiters: [],
    repeated: 0,
    logins: 0,
    current: null,
    records: { attempts: [], pings: [], received: [], states: [], frames: [], invalidFrames: [] },
  };

  server.on('upgrade', (request: IncomingMessage, socket, head: Buffer) => {
    cloud.records.attempts.push(Date.now());
    if (request.url !== cloudPath) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (opened) => serve(cloud, opened));
  });
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    ...cloud.records,
    host: `${options.tls ? '' : 'ws://'}${options.tls ? 'localhost' : '127.0.0.1'}:${port}`,
    port,
    options: cloud.behaviour,
    repeated: () => cloud.repeated,
    logins: () => cloud.logins,
    waiting: () => [...cloud.waiting.values()].map(({ chipId, claimSecret }) => ({ chipId, claimSecret })),
    claim: (chipId, claimSecret) => {
      const code = `${chipId} ${claimSecret}`;
      const station = cloud.waiting.get(code);
      if (station === undefined) return null;
      cloud.waiting.delete(code);
      const stationToken = newToken(cloud.tokens);
      cloud.unusedTokens.set(code, stationToken);
      station.send({ type: 'claim_success', stationToken });
      return stationToken;
    },
    issueToken: () => newToken(cloud.tokens),
    revoke: (token) => void cloud.tokens.set(token, false),
    restore: (token) => void cloud.tokens.set(token, true),
    connection: () => {
      const { current } = cloud;
      if (current?.isOpen()) return Promise.resolve(current);
      return new Promise((resolve) => cloud.waiters.push(resolve));
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The connection of one station. */
type StationLink = {
  cloud: CloudState;
  socket: WebSocket;
  queues: Record<Direction, FrameQueue>;
  pendingCalls: Map<string | number, { resolve(value: unknown): void; reject(error: Error): void }>;
  /** Cut or stalled: later frames are lost. */
  isDead: boolean;
  isAuthenticated: boolean;
  claimCode: string | null;
  connection: CloudConnection;
};

function serve(cloud: CloudState, socket: WebSocket): void {
  const link: StationLink = {
    cloud,
    socket,
    queues: { from_station: createFrameQueue(), to_station: createFrameQueue() },
    pendingCalls: new Map(),
    isDead: false,
    isAuthenticated: false,
    claimCode: null,
    connection: createConnection(() => link),
  };
  const { behaviour, records, waiting } = cloud;
  socket.on('ping', (data) => {
    records.pings.push(Date.now());
    if (behaviour.pongs) socket.pong(data);
  });
  socket.on('message', (data) => {
    if (behaviour.isMute) return;
    const text = (data as Buffer).toString('utf8');
    passFrame(link, 'from_station', text, () => handleFrame(link, text));
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    link.isAuthenticated = false;
    if (cloud.current === link.connection) cloud.current = null;
    // The same station may already wait on another connection.
    const { claimCode } = link;
    if (claimCode !== null && waiting.get(claimCode)?.send === link.connection.send) waiting.delete(claimCode);
    for (const { reject } of link.pendingCalls.values()) reject(new Error('The connection is closed.'));
  });
}

function createConnection(linkOf: () => StationLink): CloudConnection {
  const isOpen = (): boolean => linkOf().socket.readyState === linkOf().socket.OPEN;
  const sendText = (text: string): void =>
    passFrame(linkOf(), 'to_station', text, () => isOpen() && linkOf().socket.send(text));
  const send = (message: object): void => sendText(JSON.stringify(message));
  return {
    isOpen,
    isAuthenticated: () => linkOf().isAuthenticated,
    sendText,
    send,
    call: (method, params, id = randomUUID()) =>
      new Promise((resolve, reject) => {
        if (!isOpen()) return reject(new Error('The connection is closed.'));
        linkOf().pendingCalls.set(id, { resolve, reject });
        send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
      }),
    close: (code, reason) => linkOf().socket.close(code, reason),
    cut: () => cut(linkOf()),
    stall: () => linkOf().socket.pause(),
  };
}

/** Applies the action that the behaviour chooses for a frame. */
function passFrame(link: StationLink, direction: Direction, text: string, deliver: () => void): void {
  // Frames that arrived in one packet with a cut frame are also lost.
  if (link.isDead) return;
  const action = link.cloud.behaviour.frameAction(direction, text);
  if (action === 'lose') return;
  if (action === 'cut') return cut(link);
  if (action === 'stall') {
    link.isDead = true;
    link.socket.pause();
    return;
  }
  if (typeof action === 'object' && 'overtakenMs' in action) {
    setTimeout(deliver, action.overtakenMs).unref();
    return;
  }
  link.queues[direction].pass(typeof action === 'object' ? action.delayMs : 0, () => {
    deliver();
    if (action === 'cut_after') setImmediate(() => cut(link));
  });
}

function cut(link: StationLink): void {
  link.isDead = true;
  link.socket.terminate();
}

function handleFrame(link: StationLink, text: string): void {
  const { cloud, connection } = link;
  keep(cloud.records.frames, text);
  const frame = readFrame(text);
  if (frame === null) return keep(cloud.records.invalidFrames, text);
  const { type, method, params, id } = frame;
  if (type === 'claim_handshake') {
    handleClaim(link, frame as { chipId: string; claimSecret: string });
  } else if (type === 'station_auth') {
    logIn(link, frame['stationToken']);
  } else if (typeof method === 'string') {
    if (!link.isAuthenticated) return;
    const given = (params ?? {}) as Record<string, unknown>;
    record(cloud, method, given);
    if (cloud.behaviour.acks && typeof given['seq'] === 'number') connection.send({ type: 'ack', seq: given['seq'] });
  } else if (typeof id === 'string' || typeof id === 'number') {
    const call = link.pendingCalls.get(id);
    link.pendingCalls.delete(id);
    const error = frame['error'] as { code: number; message: string } | undefined;
    if (error) call?.reject(new RpcRefusal(error.code, error.message));
    else call?.resolve(frame['result']);
  }
}

function handleClaim(link: StationLink, { chipId, claimSecret }: { chipId: string; claimSecret: string }): void {
  const { cloud, connection } = link;
  link.claimCode = `${chipId} ${claimSecret}`;
  const stationToken = cloud.unusedTokens.get(link.claimCode);
  if (stationToken !== undefined) return connection.send({ type: 'claim_success', stationToken });
  cloud.waiting.set(link.claimCode, { chipId, claimSecret, send: connection.send });
}

function logIn(link: StationLink, token: unknown): void {
  const { cloud, connection } = link;
  if (typeof token !== 'string' || cloud.tokens.get(token) !== true) {
    connection.send({ type: 'auth_error', reason: 'unknown token' });
    return link.socket.close(tokenRejectedCode, 'unknown token');
  }
  for (const [code, unused] of cloud.unusedTokens) if (unused === token) cloud.unusedTokens.delete(code);
  link.isAuthenticated = true;
  cloud.logins += 1;
  connection.send({ type: 'auth_ok', acks: cloud.behaviour.acks });
  cloud.current = connection;
  for (const waiter of cloud.waiters.splice(0)) waiter(connection);
  cloud.behaviour.onAuthenticated?.(connection);
}

function record(cloud: CloudState, method: string, params: Record<string, unknown>): void {
  const at = Date.now();
  const { id } = params;
  if (typeof id !== 'string') {
    cloud.records.states.push({ method, params, at });
  } else if (cloud.seenIds.has(id)) {
    cloud.repeated += 1;
  } else {
    cloud.seenIds.add(id);
    cloud.records.received.push({ method, params, at });
  }
}

function newToken(tokens: Map<string, boolean>): string {
  const token = randomBytes(32).toString('base64url');
  tokens.set(token, true);
  return token;
}

function keep(frames: ReceivedFrame[], text: string): void {
  frames.push({ text, at: Date.now() });
  if (frames.length > keptFrames) frames.shift();
}

/** @returns null for an invalid message, because a station under development may send anything. */
function readFrame(text: string): Record<string, unknown> | null {
  try {
    const frame = JSON.parse(text) as Record<string, unknown>;
    const { type, method, params = {}, chipId, claimSecret } = frame;
    const isValid =
      type === 'claim_handshake'
        ? typeof chipId === 'string' && typeof claimSecret === 'string'
        : typeof method !== 'string' || (typeof params === 'object' && params !== null);
    return typeof frame === 'object' && isValid ? frame : null;
  } catch {
    return null;
  }
}
