import { type Clock, isoTime } from '@station/kit/clock';
import type { RateLimitedCounter } from '@station/kit/rate-limited-counter';
import type { CloudMessage } from '@station/protocol/cloud-messages';
import type { CloudLoss, CloudSocket, OpenCloudSocket } from './adapters/cloud-socket.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { Delivering, Delivery } from './delivery.ts';
import { createInboundQueue, type BudgetLimits, type InboundQueue } from './inbound-queue.ts';
import { createPeer, fitsFrame, type IgnoredReason, type Peer } from './peer.ts';
import type { RpcMethod } from './rpc-server.ts';

export type ConnectionParts = {
  open: OpenCloudSocket;
  limits: BudgetLimits;
  methods: Readonly<Record<string, RpcMethod>>;
  /** Number of ignored frames. */
  ignored: Pick<RateLimitedCounter<IgnoredReason>, 'count'>;
  delivery: Pick<Delivery, 'ponged'>;
  clock: Clock;
  logger: BackendLogger;
};

/** Events of a connection for the link; none after `end`. */
export type ConnectionListener = {
  /** JSON-RPC calls are only answered while this is true. */
  isAuthenticated(): boolean;
  onOpen(): void;
  /** A frame arrived. */
  onReceived(atMs: number): void;
  /** The pong of the last ping arrived. */
  onPong(): void;
  /** @returns a promise that the next frame waits for; must not reject. */
  onMessage(message: CloudMessage): Promise<void> | undefined;
  /** The connection is unusable. */
  onUseless(reason: string): void;
  onClose(loss: CloudLoss): void;
};

/** One connection to the cloud: socket, inbound budget, and JSON-RPC peer. */
export type Connection = {
  ping(): void;
  /** Sends a plain message. */
  send(message: object): void;
  /** The current frame costs as much as this many calls. */
  charge(calls: number): void;
  /** The current frame costs nothing. */
  forgive(): void;
  /** Whether the station has paused reading. */
  isHeld(): boolean;
  delivering(acks: boolean): Delivering;
  end(): void;
};

/** Above this the cloud is not reading: the connection ends, and the next one resends important messages. */
const maxBacklogBytes = 8 * 1024 * 1024;

export function openConnection(parts: ConnectionParts, listener: ConnectionListener): Connection {
  let isCurrent = true;
  let awaitsPong = false;
  const whileCurrent = <Result>(work: () => Result): Result | undefined => (isCurrent ? work() : undefined);
  const noteReceived = (): void => listener.onReceived(parts.clock.monotonic());
  const end = (): void => {
    isCurrent = false;
    inbound.close();
    peer.close();
  };
  const socket: CloudSocket = parts.open({
    onOpen: () => whileCurrent(listener.onOpen),
    onPong: () =>
      whileCurrent(() => {
        noteReceived();
        if (awaitsPong) listener.onPong();
        awaitsPong = false;
        parts.delivery.ponged();
      }),
    onMessage: (text, bytes) =>
      whileCurrent(() => {
        noteReceived();
        inbound.push(text, bytes);
      }),
    onClose: (loss) =>
      whileCurrent(() => {
        end();
        listener.onClose(loss);
      }),
  });
  const peer = peerOf(parts, listener, {
    send: (text) => {
      socket.send(text);
      if (socket.bufferedAmount > maxBacklogBytes) {
        whileCurrent(() => listener.onUseless('The cloud does not read what it is sent.'));
      }
    },
    isCurrent: () => isCurrent,
    charge: (calls) => inbound.charge(calls),
  });
  const inbound: InboundQueue = createInboundQueue({
    limits: parts.limits,
    pause: socket.pause,
    resume: socket.resume,
    deal: (text) => whileCurrent(() => peer.receive(text)),
  });
  return {
    ping: () => {
      awaitsPong = true;
      socket.ping();
    },
    send: (message) => socket.send(JSON.stringify(message)),
    charge: inbound.charge,
    forgive: inbound.forgive,
    isHeld: inbound.isHeld,
    delivering: (acks) => ({
      acks,
      bufferedBytes: () => socket.bufferedAmount,
      giveUp: (reason) => whileCurrent(() => listener.onUseless(reason)),
      notify: (method, params, done) => {
        const timestamp = params['at'] ?? isoTime(parts.clock.now());
        return sendNotification(socket, { jsonrpc: '2.0', method, params: { ...params, timestamp } }, done);
      },
    }),
    end: () => {
      end();
      socket.end();
    },
  };
}

function peerOf(
  { methods, ignored, logger }: ConnectionParts,
  listener: ConnectionListener,
  connection: { send(text: string): void; isCurrent(): boolean; charge(calls: number): void },
): Peer {
  const { isCurrent } = connection;
  return createPeer({
    send: connection.send,
    methods,
    isAuthenticated: () => isCurrent() && listener.isAuthenticated(),
    onMessage: (message) => (isCurrent() ? listener.onMessage(message) : undefined),
    onBatch: connection.charge,
    onIgnored: (reason) => ignored.count(reason, undefined),
    onFault: (where, message) => logger.event('unexpected_error', { where, message }),
  });
}

/** @returns false when it is larger than a frame may be; then it is not sent. */
function sendNotification(socket: CloudSocket, notification: object, done?: () => void): boolean {
  const text = JSON.stringify(notification);
  if (!fitsFrame(text)) return false;
  socket.send(text, (error) => error === undefined && done?.());
  return true;
}
