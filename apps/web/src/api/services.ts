import type { QueryClient } from '@tanstack/react-query';
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import type { Device } from '@station/protocol/devices';
import type { User } from '@station/protocol/rest';
import type { Drafts } from './drafts.ts';
import type { LiveService } from './live.ts';
import type { Memory } from './memory.ts';
import type { SessionService } from './session.ts';
import type { StationClock } from './station-clock.ts';
import type { KeyedStore, Store, WritableStore } from './store.ts';

/** What was done, told by the frame. `undo`: takes it back. */
export type Toast = { words: string; undo: () => Promise<unknown> };

/** The services of all pages; created once, passed down. */
export type Services = {
  session: SessionService;
  live: LiveService;
  queries: QueryClient;
  /** The known devices by id, each for itself. */
  devices: KeyedStore<Device>;
  clock: StationClock;
  memory: Memory;
  /** Id of the latest operation whose result was read in this browser. */
  readResult: WritableStore<string | null>;
  drafts: Drafts;
  /** What was done last and can be undone. */
  toast: WritableStore<Toast | null>;
  /** Whether the search of the app is open. */
  finding: WritableStore<boolean>;
  /** True once the station serves a newer page than this one. */
  outdated: Store<boolean>;
};

export const ServicesContext = createContext<Services | null>(null);

export function useServices(): Services {
  const services = useContext(ServicesContext);
  if (!services) throw new Error('useServices outside of ServicesContext');
  return services;
}

export const useStore = <T>(store: Store<T>): T => useSyncExternalStore(store.subscribe, store.get);

/** Who is logged in. Only below the session gate. */
export function useUser(): User {
  const state = useStore(useServices().session.state);
  if (state.kind !== 'signed_in') throw new Error('useUser without a session');
  return state.user;
}

/** Renders again every `everyMs`; for what depends on the time of day. Off when null. */
export function useTick(everyMs: number | null): void {
  const [, tick] = useState(0);
  useEffect(() => {
    if (everyMs === null) return undefined;
    const timer = setInterval(() => tick((count) => count + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}
