import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import type { ByteBudget } from './byte-budget.ts';
import { onceClosed } from './once-closed.ts';
import { StationError } from './station-error.ts';
import { createTarpit, type Tarpit } from './tarpit.ts';

/** Largest body of a caller who has shown no permission. */
export const strangerBodyBytes = 4096;
/** What a connection takes in this program, without a body. */
const connectionBytes = 8 * 1024;
const retryAfterSeconds = 5;
/** A client that has not sent its refused body by then gets its answer before. */
const discardMs = 5_000;
/** Of refused bodies, all together, little at a time: 16 MiB a second; of many 2 MiB, because each read is work for the garbage collector. */
const discardSlice = { ms: 50, bytes: 800 * 1024, bytesOfMany: 100 * 1024, many: 8 } as const;
/** Of refused bodies at once: whose is read longest gets no answer. */
const mostDiscarding = 32;
/** A piece takes far more work than its bytes: a refused body in so many small ones is not read on. */
const smallPieces = { most: 1_000, bytes: 64 } as const;
/** Of one connection at once. No browser sends a request before the answer to the one before. */
const mostAnswering = 8;

export type Caller = {
  client: string;
  isStranger: boolean;
  /** What arrives later is refused, and does not end this body. */
  keepsPlace?: boolean;
};

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
  const tarpit = createTarpit();
  // They are in the budget until they end.
  const late = createTarpit({ most: Infinity });
  server.on('connection', (socket) => connections.set(socket, followConnection(socket, budget, tarpit)));
  const begin = (request: IncomingMessage, response: ServerResponse): boolean => {
    const connection = connections.get(request.socket);
    if (connection?.begin(request) === false) return false;
    response.once('close', () => connection?.end(request));
    return true;
  };
  const emit = server.emit.bind(server) as (event: string, ...values: unknown[]) => boolean;
  // Node emits all requests that arrive together, a thousand in one read, also when the first of them ended the connection; and all
  // connections whose time is over, which would all be answered at once.
  server.emit = (event: string, ...values: unknown[]): boolean => {
    if (event === 'clientError' && isLate(values[0])) {
      const socket = values[1] as Socket;
      late.hold(socket, () => {
        emit(event, ...values);
        // Nobody reads from it any more, so that the end from the client would never be seen.
        socket.destroySoon();
      });
      return true;
    }
    if (event !== 'request') return emit(event, ...values);
    const [request, response] = values as [IncomingMessage, ServerResponse];
    if (begin(request, response)) return emit(event, request, response);
    request.socket.destroy();
    return true;
  };
  return {
    admit: (request, response, { client, isStranger, keepsPlace = false }, limit) => {
      const bodyBytes = bytesOfBody(request, limit);
      if (bodyBytes === 0) return;
      if (bodyBytes > limit)
        throw new StationError('payload_too_large', 'The request is larger than what is accepted.');
      const mayEnd = (): boolean => !keepsPlace && !request.complete;
      const end = (): void => {
        if (isStranger) tarpit.hold(request.socket);
        else request.destroy();
      };
      const taken = budget.take({ bytes: connectionBytes + bodyBytes, client, isStranger, mayEnd, end });
      if (taken === null)
        throw new StationError('busy', 'Too much arrives at once. Try again soon.', { details: { retryAfterSeconds } });
      onceClosed(response, () => taken[Symbol.dispose]());
    },
    discard: createDiscard(tarpit),
    release: (socket) => connections.get(socket)?.release(),
  };
}

const isLate = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ERR_HTTP_REQUEST_TIMEOUT';

function createDiscard(tarpit: Tarpit): BoundedRequests['discard'] {
  /** In the order of arrival. */
  const discarding = new Set<IncomingMessage>();
  let readBytes = 0;
  let timer: NodeJS.Timeout | null = null;
  const sliceBytes = (): number =>
    discarding.size > discardSlice.many ? discardSlice.bytesOfMany : discardSlice.bytes;
  const beginSlice = (): void => {
    readBytes = 0;
    timer = discarding.size === 0 ? null : setTimeout(beginSlice, discardSlice.ms);
    for (const request of discarding) request.resume();
  };
  return async (request, response) => {
    if (request.complete || request.destroyed) return;
    discarding.add(request);
    const [oldest] = discarding;
    if (discarding.size > mostDiscarding && oldest !== undefined) {
      discarding.delete(oldest);
      tarpit.hold(oldest.socket);
    }
    let pieces = 0;
    let bytes = 0;
    const count = (chunk: Buffer): void => {
      readBytes += chunk.length;
      pieces++;
      bytes += chunk.length;
      if (pieces > smallPieces.most && bytes < pieces * smallPieces.bytes) request.destroy();
      if (readBytes >= sliceBytes()) for (const each of discarding) each.pause();
    };
    request.on('data', count);
    if (timer === null) beginSlice();
    else if (readBytes >= sliceBytes()) request.pause();
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

function followConnection(socket: Socket, budget: ByteBudget, tarpit: Tarpit): Connection {
  const answering = new Set<IncomingMessage>();
  let taken: Disposable | null = null;
  let isReleased = false;
  const mayEnd = (): boolean => [...answering].every(({ complete }) => !complete);
  const giveBack = (): void => taken?.[Symbol.dispose]();
  const wait = (): void => {
    giveBack();
    if (isReleased || socket.destroyed) return;
    const end = (): void => tarpit.hold(socket);
    taken = budget.take({ bytes: connectionBytes, client: null, isStranger: true, mayEnd, end });
    if (taken === null) socket.destroy();
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
