import { createBackoff } from '@station/kit/retry';
import type { CloudState } from '@station/protocol/cloud';
import { tokenRejectedCode } from '@station/protocol/cloud-messages';

/** Why a secure connection is impossible. */
export type LinkTrouble =
  /** The other side cannot prove that it is the cloud. */
  | 'certificate'
  /** Its certificate is not valid yet, by the clock of this machine. */
  | 'clock';

/** Events of the link. */
export type LinkEvent =
  /** Connect, or connect again with other credentials; `claimed`: with a token. */
  | { kind: 'start'; claimed: boolean }
  /** Another backend holds the link now, or this one ends. */
  | { kind: 'stop' }
  | { kind: 'opened' }
  | { kind: 'accepted' }
  | { kind: 'refused'; reason: string }
  /** The answer to a ping arrived; no other frame is one. */
  | { kind: 'pong' }
  /** `by`: who ended it; `cloud` also for a connection that was reset. */
  | { kind: 'closed'; by: 'cloud' | 'network'; code: number | null; reason: string; trouble?: LinkTrouble | null }
  /** The cloud does not read or does not acknowledge. */
  | { kind: 'given_up'; reason: string }
  /** The time `wakeAtMs` is reached. */
  | { kind: 'time' };

/** Actions for the caller to execute. */
export type LinkAction = 'connect' | 'send_claim' | 'send_auth' | 'ping' | 'end';

export type LinkView = {
  state: Exclude<CloudState, 'disabled'>;
  authenticatedAtMs: number | null;
  lastError: string | null;
  /** Error of the latest attempt. */
  trouble: LinkTrouble | null;
  /** Since when it is not authenticated; null while it is, or while stopped. */
  downSinceMs: number | null;
  nextAttemptAtMs: number | null;
};

export type LinkMachine = {
  /** @param nowMs of a monotonic clock. */
  on(event: LinkEvent, nowMs: number): LinkAction[];
  /** When it needs the next `time` event; null while it only waits for other events. */
  wakeAtMs(): number | null;
  view(): LinkView;
};

type Phase =
  | { kind: 'stopped' }
  | { kind: 'waiting'; untilMs: number }
  | { kind: 'connecting'; deadlineMs: number }
  /** Open and not authenticated yet; without a deadline while it waits for a person to claim the station. */
  | { kind: 'handshake'; deadlineMs: number | null; ping: Ping }
  | { kind: 'authenticated'; sinceMs: number; ping: Ping; isStable: boolean };
type Ping = { nextMs: number; isAwaited: boolean };

/** Specification, "Limits". */
export const pingEveryMs = 30_000;
const connectTimeoutMs = 15_000;
const authTimeoutMs = 15_000;
/** A link that is lost sooner counts as one more failure. */
const stableAfterMs = 20_000;
/** Close codes of a cloud that restarts or is full (IANA registry of RFC 6455). */
const unavailableCodes: ReadonlySet<number | null> = new Set([1012, 1013]);
/** The first wait after such a code, so that the stations of a cloud that restarted do not all return in the same second. */
export const spread = { minMs: 5_000, maxMs: 30_000 };

type State = {
  reconnect: Reconnect;
  phase: Phase;
  claimed: boolean;
  isRejected: boolean;
  lastError: string | null;
  trouble: LinkTrouble | null;
  downSinceMs: number | null;
};
type EventOf<Kind extends LinkEvent['kind']> = Extract<LinkEvent, { kind: Kind }>;

/**
 * The state machine of the link: facts in, actions out, without socket, timer or clock. For any order of events it has at most one
 * connection, and a time at which it continues.
 */
export function createLinkMachine(reconnect: Reconnect): LinkMachine {
  const state: State = {
    reconnect,
    phase: { kind: 'stopped' },
    claimed: false,
    isRejected: false,
    lastError: null,
    trouble: null,
    downSinceMs: null,
  };
  return {
    on: (event, nowMs) => decide(state, event, nowMs),
    wakeAtMs: () => wakeAt(state.phase),
    view: () => ({
      state: shownState(state),
      authenticatedAtMs: state.phase.kind === 'authenticated' ? state.phase.sinceMs : null,
      lastError: state.lastError,
      trouble: state.trouble,
      downSinceMs: state.downSinceMs,
      nextAttemptAtMs: state.phase.kind === 'waiting' ? state.phase.untilMs : null,
    }),
  };
}

function decide(state: State, event: LinkEvent, nowMs: number): LinkAction[] {
  const { phase } = state;
  switch (event.kind) {
    case 'start':
      return start(state, event, nowMs);
    case 'stop': {
      const actions = endOf(phase);
      Object.assign(state, { phase: { kind: 'stopped' }, trouble: null, downSinceMs: null } satisfies Partial<State>);
      return actions;
    }
    case 'opened':
      return opened(state, nowMs);
    case 'accepted':
      return accepted(state, nowMs);
    case 'refused':
      return isMade(phase) ? wait(state, 'rejected', event.reason, nowMs) : [];
    case 'pong':
      if (isMade(phase)) phase.ping.isAwaited = false;
      return [];
    case 'closed':
      return closed(state, event, nowMs);
    case 'given_up':
      return isMade(phase) ? wait(state, 'lost', event.reason, nowMs) : [];
    case 'time':
      return timePassed(state, nowMs);
  }
}

const isMade = (phase: Phase): phase is Extract<Phase, { ping: Ping }> =>
  phase.kind === 'handshake' || phase.kind === 'authenticated';

const endOf = (phase: Phase): LinkAction[] => (phase.kind === 'stopped' || phase.kind === 'waiting' ? [] : ['end']);

function start(state: State, { claimed }: EventOf<'start'>, nowMs: number): LinkAction[] {
  const actions = endOf(state.phase);
  Object.assign(state, { claimed, isRejected: false, lastError: null, trouble: null, downSinceMs: nowMs });
  return [...actions, ...connect(state, nowMs)];
}

function connect(state: State, nowMs: number): LinkAction[] {
  state.phase = { kind: 'connecting', deadlineMs: nowMs + connectTimeoutMs };
  return ['connect'];
}

function opened(state: State, nowMs: number): LinkAction[] {
  if (state.phase.kind !== 'connecting') return [];
  const { claimed } = state;
  state.trouble = null;
  // The cloud is reached; now a person must claim the station.
  if (!claimed) state.lastError = null;
  const ping = { nextMs: nowMs + pingEveryMs, isAwaited: false };
  state.phase = { kind: 'handshake', deadlineMs: claimed ? nowMs + authTimeoutMs : null, ping };
  return [claimed ? 'send_auth' : 'send_claim'];
}

function accepted(state: State, nowMs: number): LinkAction[] {
  if (state.phase.kind !== 'handshake' || !state.claimed) return [];
  const { ping } = state.phase;
  state.phase = { kind: 'authenticated', sinceMs: nowMs, ping, isStable: false };
  Object.assign(state, { isRejected: false, lastError: null, downSinceMs: null } satisfies Partial<State>);
  return [];
}

function closed(state: State, event: EventOf<'closed'>, nowMs: number): LinkAction[] {
  if (endOf(state.phase).length === 0) return [];
  state.trouble = event.trouble ?? null;
  const isRejected = event.code === tokenRejectedCode;
  const lost = unavailableCodes.has(event.code) ? 'cloud_unavailable' : 'lost';
  wait(state, isRejected ? 'rejected' : lost, event.reason, nowMs);
  // The connection has already ended.
  return [];
}

/** Ends the connection and waits for the next attempt. */
function wait(state: State, kind: LossKind, reason: string, nowMs: number): LinkAction[] {
  const actions = endOf(state.phase);
  state.lastError = reason;
  state.downSinceMs ??= nowMs;
  state.isRejected ||= kind === 'rejected';
  // After a rejection the slow rate stays, whatever fails next.
  const untilMs = nowMs + state.reconnect.nextMs(state.isRejected ? 'rejected' : kind);
  state.phase = { kind: 'waiting', untilMs };
  return actions;
}

function timePassed(state: State, nowMs: number): LinkAction[] {
  const { phase } = state;
  switch (phase.kind) {
    case 'stopped':
      return [];
    case 'waiting':
      return nowMs >= phase.untilMs ? connect(state, nowMs) : [];
    case 'connecting':
      if (nowMs < phase.deadlineMs) return [];
      return wait(state, 'lost', 'The cloud could not be reached in time.', nowMs);
    case 'handshake':
      if (phase.deadlineMs !== null && nowMs >= phase.deadlineMs) {
        return wait(state, 'lost', 'The cloud did not answer the log-in in time.', nowMs);
      }
      return ping(state, phase.ping, nowMs);
    case 'authenticated':
      if (!phase.isStable && nowMs - phase.sinceMs >= stableAfterMs) {
        phase.isStable = true;
        state.reconnect.stable();
      }
      return ping(state, phase.ping, nowMs);
  }
}

function ping(state: State, own: Ping, nowMs: number): LinkAction[] {
  if (nowMs < own.nextMs) return [];
  if (own.isAwaited) return wait(state, 'lost', 'The cloud did not answer a ping.', nowMs);
  own.isAwaited = true;
  own.nextMs = nowMs + pingEveryMs;
  return ['ping'];
}

function wakeAt(phase: Phase): number | null {
  switch (phase.kind) {
    case 'stopped':
      return null;
    case 'waiting':
      return phase.untilMs;
    case 'connecting':
      return phase.deadlineMs;
    case 'handshake':
      return Math.min(phase.deadlineMs ?? Infinity, phase.ping.nextMs);
    case 'authenticated':
      return phase.isStable ? phase.ping.nextMs : Math.min(phase.ping.nextMs, phase.sinceMs + stableAfterMs);
  }
}

function shownState({ phase, claimed, isRejected }: State): LinkView['state'] {
  if (phase.kind === 'authenticated') return 'authenticated';
  // The error stays during the next attempt, until one succeeds.
  if (isRejected) return 'rejected';
  if (!claimed) return 'unclaimed';
  return phase.kind === 'stopped' || phase.kind === 'waiting' ? 'offline' : 'connecting';
}

/** Why the next connection is needed. */
type LossKind =
  /** It could not be made, was closed or broke. */
  | 'lost'
  /** The cloud restarts or is full: all its stations lost it at the same moment. */
  | 'cloud_unavailable'
  /** The cloud does not accept the token. */
  | 'rejected';

export type Reconnect = {
  /** Milliseconds to wait before the next attempt. */
  nextMs(kind: LossKind): number;
  /** The link was up long enough: the next loss starts with the shortest wait. */
  stable(): void;
};

/** How long to wait before each attempt (contracts, section 12). @param random uniform in [0, 1). */
export function createReconnect(random: () => number): Reconnect {
  const usual = createBackoff({ initialMs: 2_000, maxMs: 60_000, jitter: 0.2, random });
  const slowLane = createBackoff({ initialMs: 300_000, maxMs: 3_600_000, jitter: 0.2, random });
  return {
    nextMs: (kind) => {
      switch (kind) {
        case 'lost':
          return usual.nextMs();
        case 'cloud_unavailable':
          return Math.round(spread.minMs + random() * (spread.maxMs - spread.minMs));
        case 'rejected':
          return slowLane.nextMs();
      }
    },
    stable: () => {
      usual.reset();
      slowLane.reset();
    },
  };
}
