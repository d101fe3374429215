import type { Writable } from 'node:stream';
import websocket from '@fastify/websocket';
import { Value } from 'typebox/value';
import type { RawData, WebSocket } from 'ws';
import { type Clock, isoTime } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';
import {
  authDeadlineMs,
  ClientMessage,
  closeCodes,
  type HelloMessage,
  maxFrameBytes,
  type ServerMessage,
} from '@station/protocol/socket';
import type { AccessClaims, AccessTokens } from '../core/access-tokens.ts';
import { refuseForeignOrigin } from '../http/access.ts';
import type { HttpServer } from '../http/server.ts';
import type { HubClient, SocketHub } from './hub.ts';
import { batchOf, createOutbox, outgoing, type SendingSocket } from './outbox.ts';

type ConnectionDependencies = {
  hub: SocketHub;
  tokens: Pick<AccessTokens, 'verify' | 'holds'>;
  /** What `hello` tells besides the user. */
  describe(): Promise<Pick<HelloMessage, 'version' | 'station'>>;
  clock: Clock;
  logger: BackendLogger;
};

/** How long a client that is being closed has to answer before it is cut off. */
const closeGraceMs = 2_000;
/** setTimeout holds no more; a token lives 15 minutes. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * One WebSocket: nothing goes out before it has logged in, nothing after its token has expired.
 * @param connection below the WebSocket, which was agreed without extensions. Frames are made once for all clients and written there; `ws`
 * would make them anew for each, and write each by itself. Its own frames (ping, pong, close) go there as a whole too.
 * @returns ends the connection; `ended` resolves when it is gone.
 */
function serveConnection(
  socket: WebSocket,
  connection: Pick<Writable, 'write'>,
  dependencies: ConnectionDependencies,
): { close(code: number, reason: string): void } {
  const { hub, tokens, clock, logger } = dependencies;
  let client: HubClient | null = null;
  let timer = setTimeout(() => close(closeCodes.unauthorized, 'No log-in in time'), authDeadlineMs);
  let cutOff: NodeJS.Timeout | undefined;

  const sending: SendingSocket = {
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    write: (frames, done) => {
      if (socket.readyState === socket.OPEN) connection.write(frames, done);
    },
  };
  const outbox = createOutbox(sending, () => {
    logger.event('socket_client_dropped', { reason: 'too far behind' });
    close(closeCodes.tooSlow, 'Too far behind');
  });

  function close(code: number, reason: string): void {
    outbox.clear();
    if (client !== null) hub.remove(client);
    socket.close(code, reason);
    cutOff ??= setTimeout(() => socket.terminate(), closeGraceMs);
  }

  const send = (message: ServerMessage): void => outbox.send(batchOf([outgoing(message)]));

  const logIn = async (token: string): Promise<void> => {
    const claims = await tokens.verify(token);
    if (claims === null || (client !== null && client.userId !== claims.userId)) {
      close(closeCodes.unauthorized, 'The token is not valid');
      return;
    }
    const described = await dependencies.describe();
    if (socket.readyState !== socket.OPEN) return;
    // A user revoked during the log-in was not in the list of clients to close.
    if (!tokens.holds(claims)) return close(closeCodes.unauthorized, 'BackendLogger in again');
    clearTimeout(timer);
    const left = Math.min(Math.max(0, claims.expiresAt - clock.now()), maxTimerMs);
    timer = setTimeout(() => close(closeCodes.unauthorized, 'The token has expired'), left);
    send(hello(described, claims, clock));
    if (client !== null) return;
    client = { userId: claims.userId, send: outbox.send, close };
    hub.add(client);
  };

  const onMessage = async (data: RawData, isBinary: boolean): Promise<void> => {
    const message = isBinary ? null : parse(data);
    if (message === null) return close(closeCodes.badMessage, 'Not a message of this protocol');
    if (message.type === 'auth') return logIn(message.token);
    if (client === null) return close(closeCodes.unauthorized, 'The first message must be auth');
    send({ type: 'pong', at: isoTime(clock.now()) });
  };

  socket.on('message', (data, isBinary) => {
    onMessage(data, isBinary).catch((error: unknown) => {
      logger.event('unexpected_error', { where: '/ws', message: String(error) });
      close(1011, 'Something went wrong here');
    });
  });
  // A broken link ends in `close` too; without a listener its error would end the process.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearTimeout(timer);
    clearTimeout(cutOff);
    outbox.clear();
    if (client !== null) hub.remove(client);
  });
  return { close };
}

function hello(described: Pick<HelloMessage, 'version' | 'station'>, claims: AccessClaims, clock: Clock): HelloMessage {
  return {
    type: 'hello',
    at: isoTime(clock.now()),
    ...described,
    user: { id: claims.userId, role: claims.role },
    tokenExpiresAt: isoTime(claims.expiresAt),
  };
}

function parse(data: RawData): ClientMessage | null {
  try {
    // One Buffer: the binaryType of `ws` is left as it is.
    const value: unknown = JSON.parse((data as Buffer).toString('utf8'));
    return Value.Check(ClientMessage, value) ? value : null;
  } catch {
    return null;
  }
}

const pingEveryMs = 30_000;
const maxConnections = 1_000;
/** For the closing handshakes when the backend stops. */
const stopGraceMs = 1_000;

/** GET /ws (contracts, section 10). Open to any page of this station; the first message then logs in. */
export async function registerSocketRoute(app: HttpServer, dependencies: ConnectionDependencies): Promise<void> {
  const connections = new Map<WebSocket, { close(code: number, reason: string): void; alive: boolean }>();

  const pinging = setInterval(() => {
    for (const [socket, connection] of connections) {
      if (!connection.alive) socket.terminate();
      connection.alive = false;
      socket.ping();
    }
  }, pingEveryMs);

  await app.register(websocket, {
    // A larger frame is answered with close 1009 by the library.
    options: { maxPayload: maxFrameBytes, perMessageDeflate: false },
    preClose: (done) => {
      clearInterval(pinging);
      for (const { close } of connections.values()) close(closeCodes.goingAway, 'The backend is stopping');
      const timer = setTimeout(() => {
        for (const socket of connections.keys()) socket.terminate();
      }, stopGraceMs);
      app.websocketServer.close(() => {
        clearTimeout(timer);
        done();
      });
    },
  });

  app.route({
    method: 'GET',
    url: '/ws',
    config: { access: 'public' },
    schema: { hide: true },
    onRequest: refuseForeignOrigin,
    handler: async () => {
      throw new StationError('bad_request', 'This address speaks WebSocket only.');
    },
    wsHandler: (socket, request) => {
      if (connections.size >= maxConnections) {
        socket.on('error', () => undefined);
        socket.close(1013, 'Too many connections');
        return;
      }
      const connection = { ...serveConnection(socket, request.raw.socket, dependencies), alive: true };
      connections.set(socket, connection);
      socket.on('pong', () => {
        connection.alive = true;
      });
      socket.on('close', () => connections.delete(socket));
    },
  });
}
