import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { RawData, WebSocket } from 'ws';
import { type Clock, isoTime } from '@station/kit/clock';
import { createFairPlaces, type FairPlaces } from '@station/kit/fair-places';
import { parseAs } from '@station/kit/json';
import type { BackendLogger } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';
import { createTarpit } from '@station/kit/tarpit';
import { createTokenBucket } from '@station/kit/token-bucket';
import { after, every } from '@station/kit/timers';
import {
  authDeadlineMs,
  ClientMessage,
  closeCodes,
  type HelloMessage,
  maxClientFrameBytes,
  type ServerMessage,
} from '@station/protocol/socket';
import type { AccessClaims, AccessTokens } from '../core/access-tokens.ts';
import { networkOf } from '../core/client-network.ts';
import type { FindSight } from '../core/sight.ts';
import { refuseForeignOrigin } from '../http/access.ts';
import type { HttpServer } from '../http/server.ts';
import { acceptWebSockets } from './adapters/web-sockets.ts';
import type { HubClient, SocketHub } from './hub.ts';
import { batchOf, createOutbox, outgoing, type SendingSocket } from './outbox.ts';
import { createUpgradeTurns } from './upgrade-turns.ts';

type ConnectionDependencies = {
  hub: SocketHub;
  tokens: Pick<AccessTokens, 'verify' | 'holds'>;
  findSight: FindSight;
  /** Content of `hello` besides the user. */
  describe(): Promise<Pick<HelloMessage, 'version' | 'station'>>;
  clock: Clock;
  logger: BackendLogger;
};

/** Clients that have logged in, and of one person. A page needs one; forgotten ones end by themselves. */
const maxClients = { each: 32, all: 1_000 } as const;
/** Connections that have not: of one network, and in all. */
const maxWaiting = { each: 250, all: 500 } as const;
/** Each costs a reading of the database, or an answer that waits for a reader. A page pings and renews its log-in a few times a minute. */
const messageRate = { burst: 60, perSecond: 2 } as const;
/** How long a client may take to answer a close frame before its connection is terminated. */
const closeGraceMs = 2_000;
/** The longest time of a timer; a token lives 15 minutes. */
const maxTimerMs = 2 ** 31 - 1;

/** `close` ends the connection. */
type Connection = { close(code: number, reason: string): void };

/**
 * Serves one WebSocket. It sends nothing before the log-in and nothing after the token has expired.
 * @param stream below the WebSocket, which was agreed without extensions. Frames are built once for all clients and written there; `ws`
 * would build them again for each client, in one write each. Its own frames (ping, pong, close) are written there in one piece too.
 */
function serveConnection(
  socket: WebSocket,
  stream: ByteStream,
  dependencies: ConnectionDependencies & ConnectionPlaces,
): Connection {
  const { hub, clients, clock, logger } = dependencies;
  const budget = createTokenBucket(messageRate, clock.monotonic);
  const outbox = createOutbox(sendingSocket(socket, stream), () => {
    logger.event('socket_client_dropped', { reason: 'too far behind' });
    close(closeCodes.tryLater, 'Too far behind');
  });
  const onDeadline = (): void => close(closeCodes.unauthorized, 'No log-in in time');
  const timer = after(authDeadlineMs, onDeadline);
  const session: Session = { ...dependencies, socket, outbox, client: null, loggingIn: null, timer, close };
  const leave = (): void => {
    outbox.clear();
    clients.leave(session);
    if (session.client !== null) hub.remove(session.client);
  };
  let termination: Disposable | null = null;

  function close(code: number, reason: string): void {
    leave();
    socket.close(code, reason);
    termination ??= after(closeGraceMs, () => socket.terminate());
  }

  /** What came before the end is still read, and costs nothing any more. */
  const takes = (): boolean => {
    if (termination !== null) return false;
    if (budget.take()) return true;
    close(closeCodes.badMessage, 'Too many messages');
    socket.terminate();
    return false;
  };

  // The library answers each.
  socket.on('ping', takes);
  socket.on('message', (data, isBinary) => {
    if (!takes()) return;
    handleMessage(session, data, isBinary).catch((error: unknown) => {
      logger.failed('/ws', error);
      close(1011, 'Something went wrong here');
    });
  });
  // Broken, or a message that is too large: the library has said which in its close frame.
  socket.on('error', () => close(closeCodes.badMessage, 'Not a message of this protocol'));
  socket.on('close', () => {
    session.timer[Symbol.dispose]();
    termination?.[Symbol.dispose]();
    leave();
  });
  return { close };
}

type ByteStream = Pick<Writable, 'write'>;

type ConnectionPlaces = {
  clients: FairPlaces<Connection>;
  onLogIn: () => void;
};

type Session = ConnectionDependencies &
  ConnectionPlaces &
  Connection & {
    socket: WebSocket;
    outbox: ReturnType<typeof createOutbox>;
    /** Null until the log-in. */
    client: HubClient | null;
    /** The latest log-in; null: none was asked for. */
    loggingIn: Promise<void> | null;
    /** Ends the connection: before the log-in at its deadline, then when the token expires. */
    timer: Disposable;
  };

const sendingSocket = (socket: WebSocket, stream: ByteStream): SendingSocket => ({
  get bufferedAmount() {
    return socket.bufferedAmount;
  },
  write: (frames, done) => {
    if (socket.readyState === socket.OPEN) stream.write(frames, done);
  },
});

async function handleMessage(session: Session, data: RawData, isBinary: boolean): Promise<void> {
  const { clock, close } = session;
  const message = isBinary ? null : parse(data);
  if (message === null) return close(closeCodes.badMessage, 'Not a message of this protocol');
  if (message.type === 'auth') return (session.loggingIn = logIn(session, message.token));
  // A client may send on without waiting for `hello`. What became of the log-in is told where it was asked for.
  await Promise.allSettled([session.loggingIn]);
  if (session.client === null) return close(closeCodes.unauthorized, 'The first message must be auth');
  send(session, { type: 'pong', at: isoTime(clock.now()) });
}

async function logIn(session: Session, token: string): Promise<void> {
  const { hub, tokens, clock, socket, outbox, close } = session;
  const claims = await tokens.verify(token);
  if (claims === null) return close(closeCodes.unauthorized, 'The token is not valid');
  const described = await session.describe();
  const sight = await session.findSight(claims);
  if (socket.readyState !== socket.OPEN) return;
  // Of several log-ins at once the first one says whose connection it is.
  if (session.client !== null && session.client.userId !== claims.userId)
    return close(closeCodes.unauthorized, 'The token is not valid');
  // A user revoked during the log-in was not in the list of clients to close.
  if (!tokens.holds(claims)) return close(closeCodes.unauthorized, 'Log in again');
  session.timer[Symbol.dispose]();
  const left = Math.min(Math.max(0, claims.expiresAt - clock.now()), maxTimerMs);
  session.timer = after(left, () => close(closeCodes.unauthorized, 'The token has expired'));
  send(session, hello(described, claims, clock));
  const { userId, sessionId } = claims;
  if (session.client !== null) {
    session.client.sessionId = sessionId;
    // Another sight comes with a revocation, which closed this connection.
    return;
  }
  session.client = { userId, sessionId, sight, send: outbox.send, close };
  session.onLogIn();
  session.clients
    .enter(session, [userId, sessionId ?? 'none'])
    ?.close(closeCodes.tryLater, 'This person has newer connections');
  hub.add(session.client);
}

const send = ({ outbox }: Session, message: ServerMessage): void => outbox.send(batchOf([outgoing(message)]));

function hello(described: Pick<HelloMessage, 'version' | 'station'>, claims: AccessClaims, clock: Clock): HelloMessage {
  return {
    type: 'hello',
    at: isoTime(clock.now()),
    ...described,
    user: { id: claims.userId, role: claims.role },
    tokenExpiresAt: isoTime(claims.expiresAt),
  };
}

/** One Buffer, by the default binaryType of `ws`. */
const parse = (data: RawData): ClientMessage | null => parseAs(ClientMessage, (data as Buffer).toString('utf8'));

/** Whatever they are: of a message in a thousand parts each part takes more than its byte. */
function boundBytes(stream: Readable, onTooMany: () => void): Disposable {
  let received = 0;
  const count = (chunk: Buffer): void => {
    received += chunk.length;
    if (received > maxClientFrameBytes) onTooMany();
  };
  stream.on('data', count);
  return { [Symbol.dispose]: () => void stream.off('data', count) };
}

const pingEveryMs = 30_000;
/** For the closing handshakes when the backend stops. */
const stopGraceMs = 1_000;

/** GET /ws (contracts, section 10). Open to any page of this station; the first message then logs in. */
export async function registerSocketRoute(app: HttpServer, dependencies: ConnectionDependencies): Promise<void> {
  const connections = new Map<WebSocket, { close(code: number, reason: string): void; alive: boolean }>();
  const waiting = createFairPlaces<Socket>(maxWaiting);
  const turns = createUpgradeTurns(dependencies.clock.monotonic);
  const tarpit = createTarpit();
  /** Also those that are no WebSocket yet, or have lost their place. */
  const strangers = new Set<Socket>();
  const leave = (stream: Socket): void => {
    strangers.delete(stream);
    waiting.leave(stream);
    turns.leave(stream);
  };
  let stopping = false;
  const waitForTurn = async ({ raw, ip }: FastifyRequest): Promise<void> => {
    if (raw.headers.upgrade === undefined) return;
    if (stopping) throw new StationError('shutting_down', 'The backend is stopping.');
    const network = networkOf(ip);
    strangers.add(raw.socket);
    const displaced = waiting.enter(raw.socket, [network]);
    if (displaced !== null) {
      turns.leave(displaced);
      tarpit.hold(displaced);
    }
    raw.socket.once('close', () => leave(raw.socket));
    await turns.enter(raw.socket, network);
  };
  const clients = createFairPlaces<Connection>(maxClients);

  const pinging = every(pingEveryMs, () => {
    for (const [socket, connection] of connections) {
      if (!connection.alive) socket.terminate();
      connection.alive = false;
      socket.ping();
    }
  });

  const onClosing = (): (() => void) => {
    stopping = true;
    pinging[Symbol.dispose]();
    for (const { close } of connections.values()) close(closeCodes.goingAway, 'The backend is stopping');
    const late = after(stopGraceMs, () => {
      for (const socket of connections.keys()) socket.terminate();
    });
    return () => {
      late[Symbol.dispose]();
      // Node leaves connections that asked for an upgrade to us, and waits for their end.
      for (const stream of strangers) stream.destroy();
    };
  };
  await acceptWebSockets(app, { maxMessageBytes: maxClientFrameBytes, onClosing });

  app.route({
    method: 'GET',
    url: '/ws',
    config: { access: 'public' },
    schema: { hide: true },
    onRequest: [refuseForeignOrigin, waitForTurn],
    handler: async () => {
      throw new StationError('bad_request', 'This address speaks WebSocket only.');
    },
    wsHandler: (socket, request) => {
      const stream = request.raw.socket;
      const bounded = boundBytes(stream, () => tarpit.hold(stream));
      const onLogIn = (): void => {
        bounded[Symbol.dispose]();
        leave(stream);
      };
      const serving = serveConnection(socket, stream, { ...dependencies, clients, onLogIn });
      const connection = { ...serving, alive: true };
      connections.set(socket, connection);
      socket.on('pong', () => {
        connection.alive = true;
      });
      socket.on('close', () => connections.delete(socket));
    },
  });
}
