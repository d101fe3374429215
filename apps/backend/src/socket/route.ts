import websocket from '@fastify/websocket';
import type { WebSocket } from 'ws';
import { closeCodes, maxFrameBytes } from '@station/protocol/socket';
import { StationError } from '@station/kit/station-error';
import { refuseForeignOrigin } from '../http/origin.ts';
import type { HttpServer } from '../http/server.ts';
import { serveConnection, type ConnectionDependencies } from './connection.ts';

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
