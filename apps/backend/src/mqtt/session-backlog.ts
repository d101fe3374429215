/** A session at the broker of one of several backends. */
export type SharedSession = {
  /** Replicas of one group share what devices say: each message goes to one of them (MQTT 5, section 4.8.2). */
  group: string;
  /** Topic by which this session finds the end of what the broker kept for it. */
  markerTopic: string;
  /** Milliseconds since the epoch, by the clock that all replicas share. */
  now: () => number;
  lastHeard: LastHeard;
};

/**
 * When the session was last heard before: it was at `sureAt`, and was no more at `goneAt`, as far as is known. What the broker began to send
 * before that was said after `sureAt`, what it kept meanwhile after `goneAt`; what came another way since then may be newer.
 */
export type LastHeard = { sureAt: number; goneAt: number };

export type SessionBacklog = {
  /** A connection was accepted; @param isResumed the broker has the session of before. */
  connected(isResumed: boolean): void;
  /** Anything came by the connection. */
  heard(): void;
  /** What to publish, once subscribed, to the marker's topic: it comes back after all that was kept. */
  marker(): string;
  /** The marker came. */
  marked(payload: string): void;
  /** The earliest time that a message was said, when it may have waited; else undefined. */
  saidAt(isRepeated: boolean): number | undefined;
};

/** How surely a connection that broke was heard before: a message under way takes as long at most. */
const underWayMs = 1_000;

/** Tells what a session kept while nobody heard it from what is said now. A broker sends in the order it took (MQTT 5, section 4.6). */
export function createSessionBacklog({ now, lastHeard }: Pick<SharedSession, 'now' | 'lastHeard'>): SessionBacklog {
  let last = lastHeard;
  let heardAt: number | null = null;
  let isBehind = false;
  let connections = 0;
  return {
    connected: (isResumed) => {
      if (heardAt !== null) last = { sureAt: heardAt - underWayMs, goneAt: heardAt };
      connections += 1;
      isBehind = isResumed;
    },
    heard: () => {
      heardAt = now();
    },
    marker: () => String(connections),
    marked: (payload) => {
      // One of an earlier connection says nothing about this one.
      if (payload === String(connections)) isBehind = false;
    },
    saidAt: (isRepeated) => {
      if (!isBehind) return undefined;
      return Math.min(now(), isRepeated ? last.sureAt : last.goneAt);
    },
  };
}
