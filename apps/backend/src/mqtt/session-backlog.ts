/** The broker session of one of several backends. */
export type SharedSession = {
  /** The replicas of a group share the messages of devices: each message goes to one of them (MQTT 5, section 4.8.2). */
  group: string;
  /** Topic by which this session finds the end of what the broker kept for it. */
  markerTopic: string;
  /** Milliseconds since the epoch, by the clock that all replicas share. */
  now: () => number;
  lastReceived: LastReceived;
};

/**
 * When the session last received: it still did at `sureAt`, and no longer at `goneAt`. Messages that the broker sends again were sent
 * after `sureAt`, those it kept meanwhile after `goneAt`. Messages that another replica received since then may be newer.
 */
export type LastReceived = { sureAt: number; goneAt: number };

export type SessionBacklog = {
  /** A connection was accepted. @param isResumed the broker still has the previous session. */
  connected(isResumed: boolean): void;
  /** A packet arrived on the connection. */
  received(): void;
  /** Payload to publish to the marker topic after subscribing: it comes back after all kept messages. */
  marker(): string;
  /** The marker arrived. */
  marked(payload: string): void;
  /** Earliest possible send time of a message that may have waited at the broker; else undefined. */
  sentAt(isRepeated: boolean): number | undefined;
};

/** The longest time that a message is in transit before a connection breaks. */
const underWayMs = 1_000;

/** Separates messages that a session kept while offline from new ones. A broker sends in the order it received (MQTT 5, section 4.6). */
export function createSessionBacklog({
  now,
  lastReceived,
}: Pick<SharedSession, 'now' | 'lastReceived'>): SessionBacklog {
  let last = lastReceived;
  let receivedAt: number | null = null;
  let isBehind = false;
  let connections = 0;
  return {
    connected: (isResumed) => {
      if (receivedAt !== null) last = { sureAt: receivedAt - underWayMs, goneAt: receivedAt };
      connections += 1;
      isBehind = isResumed;
    },
    received: () => {
      receivedAt = now();
    },
    marker: () => String(connections),
    marked: (payload) => {
      // A marker of an earlier connection does not count for this one.
      if (payload === String(connections)) isBehind = false;
    },
    sentAt: (isRepeated) => {
      if (!isBehind) return undefined;
      return Math.min(now(), isRepeated ? last.sureAt : last.goneAt);
    },
  };
}
