import { Agent, type ClientRequestArgs } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** As in the stack's reverse proxy (deploy/proxy/Caddyfile). */
export const retryMs = 100;
export const holdMs = 30_000;

/**
 * Connections to a service that may just be restarting: while nothing listens there, connecting is tried again. Nothing of a
 * request has been sent by then, so it is held, not repeated. Connections are not kept open: one that the service closes just
 * as a request is written to it would fail that request.
 */
export class HoldingAgent extends Agent {
  readonly #stopping: AbortSignal;

  constructor(stopping: AbortSignal) {
    super({ keepAlive: false });
    this.#stopping = stopping;
  }

  override createConnection(
    options: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    const until = performance.now() + holdMs;
    const attempt = (): void => {
      const socket: Socket = connect({ host: options.host ?? '127.0.0.1', port: Number(options.port) });
      socket.once('error', (error) => {
        const refused = 'code' in error && error.code === 'ECONNREFUSED';
        if (refused && performance.now() < until && !this.#stopping.aborted) setTimeout(attempt, retryMs);
        else callback?.(error, socket);
      });
      socket.once('connect', () => {
        socket.removeAllListeners('error');
        callback?.(null, socket);
      });
    };
    attempt();
    return undefined;
  }
}
