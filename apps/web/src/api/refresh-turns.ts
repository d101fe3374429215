import type { Session } from '@station/protocol/rest';

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
/** A tab that was closed in its turn blocks the others no longer than this. */
const leaseMs = 8_000;

export function createRefreshTurns(): RefreshTurns {
  const channel = new BroadcastChannel('station-session');
  return {
    // Web Locks exist only on https and on localhost; a station in a home network is mostly plain http.
    exclusively: (work) => ('locks' in navigator ? navigator.locks.request(lockName, work) : withLease(work)),
    announce: (session) => channel.postMessage(session),
    onAnnounced: (listener) => {
      channel.onmessage = (message: MessageEvent<Session | null>) => listener(message.data);
    },
    close: () => channel.close(),
  };
}

async function withLease<T>(work: () => Promise<T>): Promise<T> {
  const mine = `${Date.now()}:${Math.random()}`;
  const deadline = Date.now() + leaseMs;
  const release = (): void => {
    if (read() === mine) write(null);
  };
  // A reload in the middle of its turn must not make the next page wait for the lease to run out.
  addEventListener('pagehide', release);
  try {
    while (!(await take(mine)) && Date.now() < deadline) await pause(100 + Math.random() * 100);
    return await work();
  } finally {
    removeEventListener('pagehide', release);
    release();
  }
}

async function take(mine: string): Promise<boolean> {
  const holder = read();
  if (holder !== null && Date.now() - Number(holder.split(':')[0]) < leaseMs) return holder === mine;
  write(mine);
  // Two tabs may write at once; the last one to have written is the one that both read now.
  await pause(40);
  return read() === mine;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

// Storage may be forbidden by the browser's settings; then there is one tab's word only, which is the common case anyway.
function read(): string | null {
  try {
    return localStorage.getItem(lockName);
  } catch {
    return null;
  }
}

function write(value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(lockName);
    else localStorage.setItem(lockName, value);
  } catch {
    // As above.
  }
}
