import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import type { ByteBudget } from './byte-budget.ts';
import { StationError } from './station-error.ts';

/** Largest body of a caller who has shown no permission. */
export const strangerBodyBytes = 4096;
/** What a connection takes in this program, without a body. */
const connectionBytes = 8 * 1024;
const retryAfterSeconds = 5;
/** A client that has not sent its refused body by then gets its answer before. */
const discardMs = 5_000;
/** Of refused bodies, all together. */
const discardBytesPerSecond = 16 * 1024 * 1024;
/** A piece takes far more work than its bytes: a refused body in so many small ones is not read on. */
const smallPieces = { most: 1_000, bytes: 64 } as const;
/** Of one connection at once. No browser sends a request before the answer to the one before. */
const mostAnswering = 8;

export type Caller = { client: string; isStranger: boolean };

export type BoundedRequests = {
  /**
   * Takes room for a body before any of it is read.
   * @param limit largest body of this route, bytes. @throws StationError payload_too_large, busy.
   */
  admit(request: IncomingMessage, response: ServerResponse, caller: Caller, limit: number): void;
  /**
   * Reads and discards the rest of a refused body: closing while the client still writes would reset the connection and
   * lose the answer. A flood of such bodies is read slowly, so that it costs little.
   */
  discard(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** The connection is none of HTTP any more: somebody else bounds it. */
  release(socket: object): void;
};

/** Counts the connections of a server, their requests, and the bodies that are arriving. Servers may share a budget. */
export function boundRequests(server: Server, budget: ByteBudget): BoundedRequests {
  const connections = new WeakMap<object, Connection>();
  server.on('connection', (socket) => connections.set(socket, followConnection(socket, budget)));
  const begin = (request: IncomingMessage, response: ServerResponse): boolean => {
    const connection = connections.get(request.socket);
    if (connection?.begin(request) === false) return false;
    response.once('close', () => connection?.end(request));
    return true;
  };
  const emit = server.emit.bind(server) as (event: string, ...values: unknown[]) => boolean;
  // Node emits all requests that arrive together, a thousand in one read, also when the first of them ended the connection.
  server.emit = (event: string, ...values: unknown[]): boolean => {
    if (event !== 'request') return emit(event, ...values);
    const [request, response] = values as [IncomingMessage, ServerResponse];
    if (begin(request, response)) return emit(event, request, response);
    request.socket.destroy();
    return true;
  };
  return {
    admit: (request, response, { client, isStranger }, limit) => {
      const bodyBytes = bytesOfBody(request, limit);
      if (bodyBytes === 0) return;
      if (bodyBytes > limit)
        throw new StationError('payload_too_large', 'The request is larger than what is accepted.');
      const mayEnd = (): boolean => !request.complete;
      const end = (): void => void request.destroy();
      const taken = budget.take({ bytes: connectionBytes + bodyBytes, client, isStranger, mayEnd, end });
      if (taken === null)
        throw new StationError('busy', 'Too much arrives at once. Try again soon.', { details: { retryAfterSeconds } });
      for (const ended of ['finish', 'close']) response.once(ended, () => taken[Symbol.dispose]());
    },
    discard: createDiscard(),
    release: (socket) => connections.get(socket)?.release(),
  };
}

function createDiscard(): BoundedRequests['discard'] {
  const discarding = new Set<IncomingMessage>();
  let readBytes = 0;
  let timer: NodeJS.Timeout | null = null;
  const beginSecond = (): void => {
    readBytes = 0;
    timer = discarding.size === 0 ? null : setTimeout(beginSecond, 1_000);
    for (const request of discarding) request.resume();
  };
  return async (request, response) => {
    if (request.complete || request.destroyed) return;
    discarding.add(request);
    let pieces = 0;
    let bytes = 0;
    const count = (chunk: Buffer): void => {
      readBytes += chunk.length;
      pieces++;
      bytes += chunk.length;
      if (pieces > smallPieces.most && bytes < pieces * smallPieces.bytes) request.destroy();
      if (readBytes >= discardBytesPerSecond) request.pause();
    };
    request.on('data', count);
    if (timer === null) beginSecond();
    // A client that disconnects meanwhile is not an error here.
    await finished(request, { signal: AbortSignal.timeout(discardMs) }).catch(() => undefined);
    discarding.delete(request);
    request.off('data', count);
    // Otherwise Node would read the rest of it, at any rate.
    if (!request.complete) response.setHeader('connection', 'close');
  };
}

type Connection = {
  /** @returns false: it has too many, or has ended. */
  begin(request: IncomingMessage): boolean;
  end(request: IncomingMessage): void;
  release(): void;
};

function followConnection(socket: Socket, budget: ByteBudget): Connection {
  const answering = new Set<IncomingMessage>();
  let taken: Disposable | null = null;
  let isReleased = false;
  const mayEnd = (): boolean => [...answering].every(({ complete }) => !complete);
  const giveBack = (): void => taken?.[Symbol.dispose]();
  const wait = (): void => {
    giveBack();
    if (isReleased || socket.destroyed) return;
    const end = (): void => void socket.destroy();
    taken = budget.take({ bytes: connectionBytes, client: null, isStranger: true, mayEnd, end });
    if (taken === null) end();
  };
  wait();
  socket.once('close', giveBack);
  return {
    begin: (request) => {
      if (socket.destroyed || answering.size >= mostAnswering) return false;
      answering.add(request);
      return true;
    },
    end: (request) => {
      answering.delete(request);
      // It becomes the newest of those that wait.
      if (answering.size === 0) wait();
    },
    release: () => {
      isReleased = true;
      giveBack();
    },
  };
}

/** Of a body in chunks nobody knows: it may reach the limit. */
function bytesOfBody({ headers }: IncomingMessage, limit: number): number {
  if (headers['transfer-encoding'] !== undefined) return limit;
  return Number(headers['content-length'] ?? 0);
}
