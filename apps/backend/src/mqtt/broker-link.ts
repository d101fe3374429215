import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '@station/kit/clock';

export type IncomingMessage = {
  topic: string;
  payload: Buffer;
  /** The earliest time it was said, when it may have waited at the broker while what was said after it came to another replica. */
  saidAt?: number;
};

/** The station's end of a broker: the embedded one, or a connection to another. */
export type BrokerLink = AsyncDisposable & {
  /**
   * Hands a message for a device to the broker at QoS 1, never retained. Nothing waits here for a broker that is away.
   * @param expiresInMs the broker forgets it then, if the device did not come for it.
   * @throws (rejects) when the broker did not take it.
   */
  publish(topic: string, payload: string, expiresInMs: number): Promise<void>;
  /** Whether what devices say is heard. */
  isReady(): boolean;
  /** Ends the connections of a device whose login changed or which was removed. */
  disconnect(externalId: string): void;
  /** Where devices on this machine reach it; null when it is not ours to tell. */
  address: string | null;
};

/** What a link hands over. */
export type BrokerLinkHandler = {
  /** Its promise resolves when the message may be acknowledged to whom it came from. */
  onMessage(message: IncomingMessage): Promise<void>;
  /** What devices say is heard from now on, or no more. */
  onListening(isListening: boolean): void;
};

/** Whether a link is well, or comes to be so within `waitMs` milliseconds. */
export async function isReadyWithin(isReady: () => boolean, waitMs: number, clock: Clock): Promise<boolean> {
  const deadline = clock.monotonic() + waitMs;
  while (!isReady() && clock.monotonic() < deadline) await clock.sleep(20);
  // On a busy machine the time may be over while what the broker said waits to be read.
  if (!isReady()) await turn();
  return isReady();
}
