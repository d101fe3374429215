import type { Session } from '@station/protocol/rest';
import type { Memory } from './memory.ts';

/**
 * Tabs of one browser share one refresh cookie, and each refresh token works once: two tabs that refresh at the same moment
 * would end the session. So tabs take turns, and the one that refreshed hands its session to the others.
 */
export type RefreshTurns = {
  /** Runs `work` while no other tab does. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /** Broadcasts to the other tabs: a new session, or null after a log-out. */
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

/** A tab that was closed in its turn blocks the others no longer than this. */
export const leaseMs = 8_000;
/** Browsers let the timers of a hidden tab run once a minute. */
export const hiddenLeaseMs = 75_000;
const renewEveryMs = 2_000;
/** Two tabs may write at once; after this time both read which of them was the last. */
const settleMs = 40;
const key = 'refresh-lease';

/**
 * Runs `work` while no other tab of this browser does, where there are no Web Locks. The holder renews its lease until it is done, and
 * the others wait as long as it is renewed: a proxy may hold a request for much longer than a lease lasts.
 */
export async function withLease<T>(
  work: () => Promise<T>,
  { memory, page, isHidden }: { memory: Memory; page: EventTarget; isHidden: () => boolean },
): Promise<T> {
  const mine = String(Math.random());
  const holder = (): { id: string; leftMs: number } | null => {
    const [until, id] = memory.get(key)?.split(' ') ?? [];
    return until === undefined || id === undefined ? null : { id, leftMs: Number(until) - Date.now() };
  };
  const renew = (): void => memory.set(key, `${Date.now() + (isHidden() ? hiddenLeaseMs : leaseMs)} ${mine}`);
  const isMine = (): boolean => holder()?.id === mine;
  const take = async (): Promise<boolean> => {
    const held = holder();
    // A lease with more time left than a whole lease is from before the clock was set.
    if (held !== null && held.leftMs > 0 && held.leftMs <= hiddenLeaseMs) return false;
    renew();
    await pause(settleMs);
    // Without storage there is no lease, and each tab works for itself.
    return isMine() || holder() === null;
  };
  const release = (): void => {
    if (isMine()) memory.set(key, null);
  };
  // A reload in the middle of its turn must not make the next page wait for the lease to run out.
  page.addEventListener('pagehide', release);
  let renewing: ReturnType<typeof setInterval> | undefined;
  try {
    while (!(await take())) await pause(100 + Math.random() * 100);
    renewing = setInterval(() => isMine() && renew(), renewEveryMs);
    return await work();
  } finally {
    clearInterval(renewing);
    page.removeEventListener('pagehide', release);
    release();
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
