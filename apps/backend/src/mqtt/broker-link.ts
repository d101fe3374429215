import { nextTurn } from '@station/kit/timers';
import type { Clock } from '@station/kit/clock';
import type { Presence } from './listeners.ts';

export type IncomingMessage = {
  topic: string;
  payload: Buffer;
  /** Earliest possible send time, set when it may have waited at the broker while a newer message reached another replica. */
  sentAt?: number;
  /** Its acknowledgement may wait: the sender expects none, or has its own from an external broker. */
  mayWait?: boolean;
  /** The broker kept it, and sent it after a subscription: only messages of gateways are taken then. */
  isRetained?: boolean;
};

/** The station's link to a broker: the embedded broker, or a connection to an external one. */
export type BrokerLink = AsyncDisposable & {
  /**
   * Sends a message to the broker at QoS 1. Messages do not queue here while the broker is offline.
   * @param expiresInMs the broker drops the message then, if the receiver has not received it; null: it keeps the message (retained).
   * @throws (rejects) when the broker did not accept it.
   */
  publish(topic: string, payload: string, expiresInMs: number | null): Promise<void>;
  /** Whether a login has a connection. Unset: the link does not know. */
  isConnected?(login: string): boolean;
  /** Whether messages of devices are being received. */
  isReady(): boolean;
  /** Other systems publish on other topics now. */
  onFiltersChanged?(): void;
  /** Ends the connections of a device whose login changed or which was removed. */
  disconnect(externalId: string): void;
  /** The login is over: nothing of it is kept. Unset: the broker is another program. */
  forget?(login: string): Promise<void>;
  /** Whether a device is connected. Unset: the link passes on no last will of a device that is. Never rejects. */
  presenceOf?(externalId: string): Promise<Presence>;
  /** Addresses of the embedded broker; none for an external broker. */
  addresses: string[];
};

/** What a link passes on. */
export type BrokerLinkHandler = {
  /** Its promise resolves when the message may be acknowledged to its sender. */
  onMessage(message: IncomingMessage): Promise<void>;
  /** Receiving messages of devices started or stopped. */
  onListening(isListening: boolean): void;
};

/** The link for parts that are made before it: as soon as it opens, it brings them messages, which they answer. */
export function createOutgoing() {
  let link: Pick<BrokerLink, 'publish' | 'presenceOf'> | null = null;
  const unknown = async (): Promise<Presence> => 'unknown';
  return {
    attach: (opened: Pick<BrokerLink, 'publish' | 'presenceOf'>): void => {
      link = opened;
    },
    publish: (topic: string, payload: string, expiresInMs: number): Promise<void> =>
      link?.publish(topic, payload, expiresInMs) ?? Promise.reject(new Error('The link to the broker is not open yet')),
    /** As `BrokerLink.presenceOf`. */
    presence: (): BrokerLink['presenceOf'] => (link === null ? unknown : link.presenceOf),
  };
}

/** Whether a link is ready, or becomes ready within `waitMs` milliseconds. */
export async function isReadyWithin(isReady: () => boolean, waitMs: number, clock: Clock): Promise<boolean> {
  const deadline = clock.monotonic() + waitMs;
  while (!isReady() && clock.monotonic() < deadline) await clock.sleep(20);
  // On a busy machine the time may be over while the broker's answer still waits to be read.
  if (!isReady()) await nextTurn();
  return isReady();
}

/**
 * Waits once for a promise that many messages in a row share, as the messages of one batch do. A promise for each of thousands of
 * messages would cost more than the messages themselves.
 * @param onDone called with the items that waited for one promise, in order.
 * @returns adds an item that waits for a promise; the promise must never reject.
 */
export function createSharedWait<T>(onDone: (items: readonly T[]) => void): (promise: Promise<void>, item: T) => void {
  let last: { promise: Promise<void>; items: T[] } | null = null;
  return (promise, item) => {
    if (last?.promise === promise) {
      last.items.push(item);
      return;
    }
    const mine = { promise, items: [item] };
    last = mine;
    void promise.then(() => {
      // An item added to this list from now on would be missed.
      if (last === mine) last = null;
      onDone(mine.items);
    });
  };
}

/** The backend ends within 5 s. */
const settleTimeoutMs = 2_000;

/** Knows whether received messages are still on their way to the disk. */
export function trackOpenMessages(receive: BrokerLinkHandler['onMessage']) {
  let open = 0;
  const handled = createSharedWait<null>((messages) => (open -= messages.length));
  return {
    receive: (message: IncomingMessage): Promise<void> => {
      open += 1;
      const done = receive(message);
      handled(done, null);
      return done;
    },
    /** Waits until all received messages are on disk or dropped. It gives up when the database cannot be written. */
    settled: async (clock: Pick<Clock, 'monotonic' | 'sleep'>): Promise<void> => {
      const deadline = clock.monotonic() + settleTimeoutMs;
      while (open > 0 && clock.monotonic() < deadline) await clock.sleep(10);
    },
  };
}
