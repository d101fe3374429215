import type { LoginRequest, Session, SetupRequest, SetupState, User } from '@station/protocol/rest';
import type { Memory } from './memory.ts';
import type { RefreshTurns } from './refresh-turns.ts';
import { asProblem, isOutage, type Method, Problem, type Send, type SendOptions } from './request.ts';
import type { StationClock } from './station-clock.ts';
import { createStore, type Store } from './store.ts';

type SessionState =
  | { kind: 'checking' }
  | { kind: 'unreachable'; problem: Problem }
  | { kind: 'setup_needed' }
  | { kind: 'signed_out'; because: 'never_in' | 'expired' | 'left' }
  | { kind: 'signed_in'; user: User };

export type SessionService = {
  state: Store<SessionState>;
  /** Reads the current user. Retries automatically while the station does not answer. */
  start(): Promise<void>;
  setUp(request: SetupRequest): Promise<void>;
  logIn(request: LoginRequest): Promise<void>;
  logOut(): Promise<void>;
  /** An access token that is still good for a while; refreshed silently when it is not. Rejects with a Problem. */
  token(): Promise<string>;
  /** The current token was refused: the next `token()` fetches another one. */
  tokenRefused(token: string): void;
  /** A request in the name of the user; a refused token is refreshed once, silently. */
  call<T>(method: Method, path: string, options?: Omit<SendOptions, 'token'>): Promise<T>;
};

/** A token with less left than this is replaced before it is used. */
const marginMs = 30_000;
const startRetryMs = 2_000;
/**
 * Longer than the reverse proxy holds a request: a cancelled request may still reach the backend, and the next attempt
 * would then bring a token that was used already.
 */
const refreshTimeoutMs = 60_000;

export function createSessionService(deps: {
  send: Send;
  turns: RefreshTurns;
  clock: StationClock;
  memory: Memory;
  pause: (ms: number) => Promise<void>;
}): SessionService {
  const { send, turns, clock, memory } = deps;
  const state = createStore<SessionState>({ kind: 'checking' });
  // The access token lives here and nowhere else: in this page's memory.
  let current: Session | null = null;
  let refreshing: Promise<Session> | null = null;

  const adopt = (session: Session): Session => {
    current = session;
    memory.set('signed-in-before', 'yes');
    const before = state.get();
    if (before.kind !== 'signed_in' || JSON.stringify(before.user) !== JSON.stringify(session.user))
      state.set({ kind: 'signed_in', user: session.user });
    return session;
  };
  const leave = (because: 'expired' | 'left'): void => {
    current = null;
    memory.set('signed-in-before', null);
    state.set({ kind: 'signed_out', because });
  };
  const fresh = (): Session | null =>
    current && Date.parse(current.expiresAt) - clock.now() > marginMs ? current : null;

  turns.onAnnounced((session) => (session ? adopt(session) : leave('left')));

  const refresh = (): Promise<Session> => {
    refreshing ??= turns
      .exclusively(async () => {
        // Another tab may have refreshed while this one waited for its turn.
        const handed = fresh();
        if (handed) return handed;
        const session = await send<Session>('POST', '/api/auth/refresh', { timeoutMs: refreshTimeoutMs });
        turns.announce(session);
        return adopt(session);
      })
      .finally(() => (refreshing = null));
    return refreshing;
  };

  const token = async (): Promise<string> => {
    const held = fresh();
    if (held) return held.accessToken;
    try {
      return (await refresh()).accessToken;
    } catch (error) {
      const problem = asProblem(error);
      // Only the station's own "no" ends a session; a backend that restarts does not.
      if (problem.status === 401 && state.get().kind === 'signed_in') leave('expired');
      throw problem;
    }
  };

  const find = async (): Promise<SessionState> => {
    if (memory.get('signed-in-before') !== null) {
      try {
        return { kind: 'signed_in', user: (await refresh()).user };
      } catch (error) {
        if (asProblem(error).status !== 401) throw error;
        memory.set('signed-in-before', null);
      }
    }
    const setup = await send<SetupState>('GET', '/api/auth/setup');
    return setup.needed ? { kind: 'setup_needed' } : { kind: 'signed_out', because: 'never_in' };
  };

  return {
    state,
    start: async () => {
      for (;;) {
        try {
          const found = await find();
          // Another tab may have logged in meanwhile.
          if (state.get().kind !== 'signed_in') state.set(found);
          return;
        } catch (error) {
          const problem = asProblem(error);
          state.set({ kind: 'unreachable', problem });
          await deps.pause(isOutage(problem) ? startRetryMs : startRetryMs * 5);
        }
      }
    },
    setUp: async (request) => {
      const session = await send<Session>('POST', '/api/auth/setup', { body: request });
      turns.announce(session);
      adopt(session);
    },
    logIn: async (request) => {
      const session = await send<Session>('POST', '/api/auth/login', { body: request });
      turns.announce(session);
      adopt(session);
    },
    logOut: async () => {
      await turns.exclusively(() => send<void>('POST', '/api/auth/logout'));
      turns.announce(null);
      leave('left');
    },
    token,
    tokenRefused: (refused) => {
      if (current?.accessToken === refused) current = null;
    },
    call: async (method, path, options = {}) => {
      const first = await token();
      try {
        return await send(method, path, { ...options, token: first });
      } catch (error) {
        const problem = asProblem(error);
        options.signal?.throwIfAborted();
        // A password that is not right is no matter of the token.
        if (problem.status !== 401 || problem.code === 'invalid_credentials') throw problem;
        if (current?.accessToken === first) current = null;
        return send(method, path, { ...options, token: await token() });
      }
    },
  };
}
