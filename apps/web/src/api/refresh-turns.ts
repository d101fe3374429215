import type { Session } from '@station/protocol/rest';
import { withLease } from './lease.ts';
import type { Memory } from './memory.ts';

/**
 * Tabs of one browser share one refresh cookie, and each refresh token works once: two tabs that refresh at the same moment
 * would end the session. So tabs take turns, and the one that refreshed hands its session to the others.
 */
export type RefreshTurns = {
  /** Runs `work` while no other tab does. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /** Tells the other tabs: a new session, or null after a log-out. */
  announce(session: Session | null): void;
  onAnnounced(listener: (session: Session | null) => void): void;
  close(): void;
};

const lockName = 'station-refresh';

export function createRefreshTurns(memory: Memory): RefreshTurns {
  const channel = new BroadcastChannel('station-session');
  return {
    // Web Locks exist only on https and on localhost; a station in a home network is mostly plain http.
    exclusively: (work) =>
      'locks' in navigator
        ? navigator.locks.request(lockName, work)
        : withLease(work, { memory, page: window, isHidden: () => document.hidden }),
    announce: (session) => channel.postMessage(session),
    onAnnounced: (listener) => {
      channel.onmessage = (message: MessageEvent<Session | null>) => listener(message.data);
    },
    close: () => channel.close(),
  };
}
