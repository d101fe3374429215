import { type Clock, isoTime } from '@station/kit/clock';
import { createEmitter } from '@station/kit/emitter';
import type { RateLimitedCounter } from '@station/kit/rate-limited-counter';
import type { CloudMessage } from '@station/protocol/cloud-messages';
import type { CloudLoss, CloudSocket, OpenCloudSocket } from './adapters/cloud-socket.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { Delivering, Delivery } from './delivery.ts';
import { createInboundQueue, type InboundQueue } from './inbound-queue.ts';
import { createPeer, fitsFrame, type IgnoredReason, type Peer } from './peer.ts';
import type { RpcMethod } from './rpc-server.ts';

export type ConnectionParts = {
  open: OpenCloudSocket;
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

/** One connection to the cloud: socket, inbound queue, and JSON-RPC peer. */
export type Connection = {
  ping(): void;
  /** Sends a plain message. */
  send(message: object): void;
  delivering(acks: boolean): Delivering;
  end(): void;
};

/** Above this the cloud is not reading: the connection ends, and the next one resends important messages. */
const maxBacklogBytes = 8 * 1024 * 1024;

export function openConnection(parts: ConnectionParts, listener: ConnectionListener): Connection {
  let awaitsPong = false;
  const ending = new AbortController();
  const frames = createEmitter<string | null>();
  const whileCurrent: WhileCurrent = (work) => (ending.signal.aborted ? undefined : work());
  const noteReceived = (): void => listener.onReceived(parts.clock.monotonic());
  const socket: CloudSocket = parts.open({
    onOpen: () => whileCurrent(listener.onOpen),
    onPong: () =>
      whileCurrent(() => {
        noteReceived();
        if (awaitsPong) listener.onPong();
        awaitsPong = false;
        parts.delivery.ponged();
      }),
    onMessage: (text) =>
      whileCurrent(() => {
        noteReceived();
        frames.emit(text);
      }),
    onClose: (loss) =>
      whileCurrent(() => {
        ending.abort();
        listener.onClose(loss);
      }),
  });
  const onUseless = (reason: string): void => whileCurrent(() => listener.onUseless(reason));
  const inbound = openInbound(parts, listener, { socket, ending: ending.signal, whileCurrent, onUseless });
  frames.subscribe(inbound.push);
  return {
    ping: () => {
      awaitsPong = true;
      socket.ping();
    },
    send: (message) => socket.send(JSON.stringify(message)),
    delivering: (acks) => deliveringOver(socket, { acks, giveUp: onUseless, clock: parts.clock }),
    end: () => {
      ending.abort();
      socket.end();
    },
  };
}

/** Does what is still wanted from this connection. */
type WhileCurrent = <Result>(work: () => Result) => Result | undefined;

type Receiving = {
  socket: CloudSocket;
  ending: AbortSignal;
  whileCurrent: WhileCurrent;
  onUseless(reason: string): void;
};

/** What the cloud sends: queued, then passed to the peer. */
function openInbound(
  parts: ConnectionParts,
  listener: ConnectionListener,
  { socket, ending, whileCurrent, onUseless }: Receiving,
): InboundQueue {
  const peer = peerOf(parts, listener, {
    send: (text) => {
      socket.send(text);
      if (socket.bufferedAmount > maxBacklogBytes) onUseless('The cloud does not read what it is sent.');
    },
    isCurrent: () => !ending.aborted,
  });
  const inbound = createInboundQueue({
    pause: socket.pause,
    resume: socket.resume,
    deal: (text) => whileCurrent(() => peer.receive(text)),
    clock: parts.clock,
  });
  const onEnd = (): void => {
    inbound.close();
    peer.close();
  };
  ending.addEventListener('abort', onEnd, { once: true });
  return inbound;
}

function deliveringOver(
  socket: CloudSocket,
  { acks, giveUp, clock }: { acks: boolean; giveUp(reason: string): void; clock: Clock },
): Delivering {
  return {
    acks,
    bufferedBytes: () => socket.bufferedAmount,
    giveUp,
    notify: (method, params, done) => {
      const timestamp = params['at'] ?? isoTime(clock.now());
      return sendNotification(socket, { jsonrpc: '2.0', method, params: { ...params, timestamp } }, done);
    },
  };
}

function peerOf(
  { methods, ignored, logger }: ConnectionParts,
  listener: ConnectionListener,
  connection: { send(text: string): void; isCurrent(): boolean },
): Peer {
  const { isCurrent } = connection;
  return createPeer({
    send: connection.send,
    methods,
    isAuthenticated: () => isCurrent() && listener.isAuthenticated(),
    onMessage: (message) => (isCurrent() ? listener.onMessage(message) : undefined),
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
