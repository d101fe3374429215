import type { PasskeyLogin, PasskeyRequest } from '@station/protocol/passkeys';
import type { LoginRequest, Session, SetupRequest, SetupState, User } from '@station/protocol/rest';
import type { AnswerOf, RouteKey, SentTo } from '@station/protocol/routes';
import type { Memory } from './memory.ts';
import type { RefreshTurns } from './refresh-turns.ts';
import {
  type AnyOptions,
  type AnySend,
  type Arguments,
  asProblem,
  isOutage,
  type ListPage,
  Problem,
  type Send,
  type SendOptions,
} from './request.ts';
import type { StationClock } from './station-clock.ts';
import { createStore, type Store, type WritableStore } from './store.ts';

type SessionState =
  | { kind: 'checking' }
  /** `since`: when the first request failed, epoch milliseconds here. */
  | { kind: 'unreachable'; problem: Problem; since: number }
  /** `lost`: the data of a station that was set up before. */
  | { kind: 'setup_needed'; lost: SetupState['lost'] | null }
  | { kind: 'signed_out'; because: 'never_in' | 'expired' | 'left' }
  | { kind: 'signed_in'; user: User };

export type SessionService = {
  state: Store<SessionState>;
  /** Reads the current user. Retries automatically while the station does not answer. */
  start(): Promise<void>;
  /** Shows the pages to a person who was logged in before, until the station says who is. For while it does not answer. */
  assume(user: User): void;
  setUp(request: SetupRequest): Promise<void>;
  /** Whose log-in page this is. @throws Problem */
  stationName(): Promise<string | null>;
  logIn(request: LoginRequest): Promise<void>;
  /** What the browser asks the person's device. @throws Problem */
  passkeyRequest(): Promise<PasskeyRequest>;
  logInWithPasskey(login: PasskeyLogin): Promise<void>;
  /** @param everywhere ends the sessions of the user in every other browser too. */
  logOut(everywhere?: 'everywhere'): Promise<void>;
  /** A valid access token; refreshed silently when it is about to expire. Rejects with a Problem. */
  token(): Promise<string>;
  /** The current token was refused: the next `token()` fetches another one. */
  tokenRefused(token: string): void;
  /** A request of the user; a refused token is refreshed once, silently. */
  call<Key extends RouteKey>(route: Key, ...options: Arguments<SentTo<Key> & CallOptions>): Promise<AnswerOf<Key>>;
  /** One page of a list: the first one, or the one at this path. */
  page<Key extends RouteKey>(
    route: Key,
    at: string | undefined,
    ...options: Arguments<SentTo<Key> & CallOptions>
  ): Promise<ListPage<ItemOf<Key>>>;
};

type CallOptions = Omit<SendOptions, 'token'>;
type ItemOf<Key extends RouteKey> = AnswerOf<Key> extends readonly (infer Item)[] ? Item : never;

/** A token with less left than this is replaced before it is used. */
const marginMs = 30_000;
const startRetryMs = 2_000;
/**
 * Longer than the reverse proxy holds a request: a cancelled request may still reach the backend, and the next attempt
 * would then bring a token that was used already.
 */
const refreshTimeoutMs = 60_000;

type SessionParts = {
  send: Send;
  turns: RefreshTurns;
  clock: StationClock;
  memory: Memory;
  pause: (ms: number) => Promise<void>;
};

export function createSessionService(parts: SessionParts): SessionService {
  const { send, turns } = parts;
  const state = createStore<SessionState>({ kind: 'checking' });
  const page: Page = { ...parts, state, current: null, refreshing: null, isAssumed: false };
  turns.onAnnounced((session) => (session ? adopt(page, session) : leave(page, 'left')));
  const enter = async (opened: Promise<Session>): Promise<void> => {
    const session = await opened;
    turns.announce(session);
    adopt(page, session);
  };
  return {
    state,
    start: () => start(page),
    assume: (user) => {
      if (!['checking', 'unreachable'].includes(state.get().kind)) return;
      page.isAssumed = true;
      state.set({ kind: 'signed_in', user });
    },
    stationName: async () => (await send('GET /api/auth/setup')).stationName,
    setUp: (body) => enter(send('POST /api/auth/setup', { body })),
    logIn: (body) => enter(send('POST /api/auth/login', { body })),
    passkeyRequest: () => send('POST /api/auth/passkeys/login-options'),
    logInWithPasskey: (body) => enter(send('POST /api/auth/passkeys/login', { body })),
    logOut: async (everywhere) => {
      if (everywhere) await call(page, 'DELETE /api/auth/sessions', {});
      else await turns.exclusively(() => send('POST /api/auth/logout'));
      turns.announce(null);
      leave(page, 'left');
    },
    token: () => token(page),
    tokenRefused: (refused) => dropToken(page, refused),
    // The types of `SessionService` have checked what belongs to the route.
    call: (route, ...sent) => call(page, route, sent[0] ?? {}) as never,
    page: (route, at, ...sent) => call(page, route, { ...sent[0], page: { at } }) as never,
  };
}

type Page = SessionParts & {
  state: WritableStore<SessionState>;
  /** The access token is only in this page's memory. */
  current: Session | null;
  /** The refresh under way, which everyone who needs a token waits for. */
  refreshing: Promise<Session> | null;
  /** The station has not said yet who is logged in. */
  isAssumed: boolean;
};

async function start(page: Page): Promise<void> {
  const { state } = page;
  let since: number | null = null;
  for (;;) {
    try {
      const found = await find(page);
      // Another tab may have logged in meanwhile.
      if (page.isAssumed || state.get().kind !== 'signed_in') state.set(found);
      page.isAssumed = false;
      return;
    } catch (error) {
      const problem = asProblem(error);
      since ??= Date.now();
      if (!page.isAssumed) state.set({ kind: 'unreachable', problem, since });
      await page.pause(isOutage(problem) ? startRetryMs : startRetryMs * 5);
    }
  }
}

async function find(page: Page): Promise<SessionState> {
  const { memory, send } = page;
  if (memory.get('signed-in-before') !== null) {
    try {
      return { kind: 'signed_in', user: (await refresh(page)).user };
    } catch (error) {
      if (asProblem(error).status !== 401) throw error;
      memory.set('signed-in-before', null);
    }
  }
  const setup = await send('GET /api/auth/setup');
  return setup.needed
    ? { kind: 'setup_needed', lost: setup.lost ?? null }
    : { kind: 'signed_out', because: 'never_in' };
}

async function call(page: Page, route: RouteKey, options: AnyOptions): Promise<unknown> {
  const send = page.send as AnySend;
  const first = await token(page);
  try {
    return await send(route, { ...options, token: first });
  } catch (error) {
    const problem = asProblem(error);
    options.signal?.throwIfAborted();
    // A wrong password does not concern the token.
    if (problem.status !== 401 || problem.code === 'invalid_credentials') throw problem;
    dropToken(page, first);
    return send(route, { ...options, token: await token(page) });
  }
}

async function token(page: Page): Promise<string> {
  const held = fresh(page);
  if (held) return held.accessToken;
  try {
    return (await refresh(page)).accessToken;
  } catch (error) {
    const problem = asProblem(error);
    // Only the station's own refusal ends a session; a backend that restarts does not.
    if (problem.status === 401 && page.state.get().kind === 'signed_in') leave(page, 'expired');
    throw problem;
  }
}

function refresh(page: Page): Promise<Session> {
  const { turns, send } = page;
  page.refreshing ??= turns
    .exclusively(async () => {
      // Another tab may have refreshed while this one waited for its turn.
      const handed = fresh(page);
      if (handed) return handed;
      const session = await send('POST /api/auth/refresh', { timeoutMs: refreshTimeoutMs });
      turns.announce(session);
      return adopt(page, session);
    })
    .finally(() => (page.refreshing = null));
  return page.refreshing;
}

const fresh = ({ current, clock }: Page): Session | null =>
  current && Date.parse(current.expiresAt) - clock.now() > marginMs ? current : null;

function adopt(page: Page, session: Session): Session {
  const { state, memory } = page;
  page.current = session;
  page.isAssumed = false;
  memory.set('signed-in-before', 'yes');
  const before = state.get();
  if (before.kind !== 'signed_in' || JSON.stringify(before.user) !== JSON.stringify(session.user))
    state.set({ kind: 'signed_in', user: session.user });
  return session;
}

function leave(page: Page, because: 'expired' | 'left'): void {
  page.current = null;
  page.isAssumed = false;
  page.memory.set('signed-in-before', null);
  page.state.set({ kind: 'signed_out', because });
}

function dropToken(page: Page, refused: string): void {
  if (page.current?.accessToken === refused) page.current = null;
}
