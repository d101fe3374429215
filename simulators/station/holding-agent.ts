import { Agent, type ClientRequestArgs } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** As in the stack's reverse proxy (deploy/proxy/Caddyfile). */
export const retryMs = 100;
export const holdMs = 30_000;

/**
 * Connections to a service that may be restarting: while nothing listens there, the connection is retried. No part of the
 * request has been sent then. Connections are not reused, because the service may close one while a request is written.
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
