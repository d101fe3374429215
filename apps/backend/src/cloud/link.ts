import { isDeepStrictEqual } from 'node:util';
import type { ExclusiveRunner } from '@station/kit/exclusive-runner';
import { describeError } from '@station/kit/station-error';
import type { Clock } from '@station/kit/clock';
import { legacyMessageTypes, type CloudMessage, type LegacyMessage } from '@station/protocol/cloud-messages';
import { openConnection, type Connection, type ConnectionParts } from './cloud-connection.ts';
import type { Delivery } from './delivery.ts';
import {
  createLinkMachine,
  type LinkAction,
  type LinkEvent,
  type LinkMachine,
  type LinkView,
  type Reconnect,
} from './link-decide.ts';

export type LinkParts = Omit<ConnectionParts, 'delivery'> & {
  host: string;
  reconnect: Reconnect;
  delivery: Pick<Delivery, 'begin' | 'end' | 'acknowledge' | 'pinged' | 'ponged'>;
  /** The cloud sent the token after a claim; the receiver stores it and restarts the link with it. */
  onClaimed(stationToken: string): void;
  /**
   * Messages that change the station, in order. Resolves when applied; reading pauses until then. Must not reject.
   * @param isOurs false when the link has ended, or has other credentials.
   */
  onLegacy(message: LegacyMessage, isOurs: () => boolean): Promise<void>;
  /** `view()` may have changed. */
  onChange(): void;
};

/** Credentials for the cloud: the token of a claimed station, or the claim secret of an unclaimed one. */
export type Credentials =
  | { kind: 'claimed'; stationToken: string }
  | { kind: 'unclaimed'; chipId: string; claimSecret: string };

export type Link = {
  /** Connects with these, and replaces an existing connection. */
  start(credentials: Credentials): void;
  stop(): void;
  /** The credentials it was started with; null while it is stopped. */
  credentials(): Credentials | null;
  view(): LinkView;
  /** Time of the last frame of the cloud, by the monotonic clock. */
  receivedAtMs(): number | null;
  /** Sends a plain message, if the link is up. */
  send(message: object): void;
  /** Ends the connection and reconnects by the rules. */
  giveUp(reason: string): void;
};

type State = {
  parts: LinkParts;
  machine: LinkMachine;
  credentials: Credentials | null;
  connection: Connection | null;
  waking: AbortController;
  shown: LinkView;
  receivedAtMs: number | null;
};

/** The visible state; a change of it is logged and broadcast. */
const shownKeys = ['state', 'nextAttemptAtMs', 'lastError', 'trouble'] as const;

/** Executes what `link-decide.ts` decides, with a real socket and a real clock. */
export function createLink(parts: LinkParts): Link {
  const machine = createLinkMachine(parts.reconnect);
  const state: State = {
    parts,
    machine,
    credentials: null,
    connection: null,
    waking: new AbortController(),
    shown: machine.view(),
    receivedAtMs: null,
  };
  return {
    start: (credentials) => {
      state.credentials = credentials;
      advance(state, { kind: 'start', claimed: credentials.kind === 'claimed' });
    },
    stop: () => {
      state.credentials = null;
      advance(state, { kind: 'stop' });
    },
    credentials: () => state.credentials,
    view: () => machine.view(),
    receivedAtMs: () => state.receivedAtMs,
    send: (message) => state.connection?.send(message),
    giveUp: (reason) => advance(state, { kind: 'given_up', reason }),
  };
}

/** Handles one event: decides, acts, and sets the next timer. */
function advance(state: State, event: LinkEvent): void {
  const { parts, machine } = state;
  const before = state.shown;
  for (const action of machine.on(event, parts.clock.monotonic())) act(state, action);
  const after = machine.view();
  state.shown = after;
  wakeInTime(state);
  if (before.state === 'authenticated' && after.state !== 'authenticated') parts.delivery.end(closeCodeOf(event));
  if (shownKeys.every((key) => before[key] === after[key])) return;
  logChange(parts, before, after);
  parts.onChange();
}

function act(state: State, action: LinkAction): void {
  const { credentials, connection } = state;
  switch (action) {
    case 'connect':
      state.connection = connect(state);
      return;
    case 'end':
      connection?.end();
      state.connection = null;
      return;
    case 'ping':
      state.parts.delivery.pinged();
      connection?.ping();
      return;
    case 'send_auth':
      if (credentials?.kind !== 'claimed') return;
      connection?.send({ type: 'station_auth', stationToken: credentials.stationToken });
      return;
    case 'send_claim': {
      if (credentials?.kind !== 'unclaimed') return;
      const { chipId, claimSecret } = credentials;
      connection?.send({ type: 'claim_handshake', chipId, claimSecret });
      return;
    }
  }
}

function connect(state: State): Connection {
  return openConnection(state.parts, {
    isAuthenticated: () => state.shown.state === 'authenticated',
    onOpen: () => advance(state, { kind: 'opened' }),
    onReceived: (atMs) => {
      state.receivedAtMs = atMs;
    },
    onPong: () => advance(state, { kind: 'pong' }),
    onMessage: (message) => receive(state, message),
    onUseless: (reason) => advance(state, { kind: 'given_up', reason }),
    onClose: (loss) => {
      state.connection = null;
      advance(state, { kind: 'closed', ...loss });
    },
  });
}

function wakeInTime(state: State): void {
  const { clock } = state.parts;
  state.waking.abort();
  state.waking = new AbortController();
  const { signal } = state.waking;
  const wakeAtMs = state.machine.wakeAtMs();
  if (wakeAtMs === null) return;
  // The timer may fire a little early by the monotonic clock.
  const waitMs = Math.max(1, Math.ceil(wakeAtMs - clock.monotonic()));
  clock.sleep(waitMs, signal).then(
    () => signal.aborted || advance(state, { kind: 'time' }),
    () => undefined,
  );
}

function logChange({ logger, host, clock }: LinkParts, before: LinkView, after: LinkView): void {
  if (after.state === 'authenticated') return logger.event('cloud_link_up', { host });
  if (after.nextAttemptAtMs === null || before.nextAttemptAtMs === after.nextAttemptAtMs) return;
  const retryInMs = Math.round(after.nextAttemptAtMs - clock.monotonic());
  const reason = after.lastError ?? '';
  logger.event(after.state === 'rejected' ? 'cloud_rejected' : 'cloud_link_down', { host, reason, retryInMs });
}

function receive(state: State, message: CloudMessage): Promise<void> | undefined {
  const { parts, credentials } = state;
  if (!isLegacy(message)) {
    receiveAnswer(state, message);
    return;
  }
  if (state.shown.state !== 'authenticated') {
    parts.ignored.count('too_early', undefined);
    return;
  }
  return parts.onLegacy(message, () => state.credentials === credentials);
}

/** Answers of the cloud to log-in, claim and messages of the station. */
function receiveAnswer(state: State, message: Exclude<CloudMessage, LegacyMessage>): void {
  const { parts } = state;
  switch (message.type) {
    case 'auth_ok':
      return authenticate(state, message.acks ?? false);
    case 'auth_error': {
      const reason = message.reason ?? 'The cloud does not accept the token of the station.';
      return advance(state, { kind: 'refused', reason });
    }
    case 'claim_success':
      if (state.credentials?.kind !== 'unclaimed') return parts.ignored.count('too_early', undefined);
      return parts.onClaimed(message.stationToken);
    case 'ack':
      parts.delivery.acknowledge(message.seq);
      return;
  }
}

function authenticate(state: State, acks: boolean): void {
  const wasAuthenticated = state.shown.state === 'authenticated';
  advance(state, { kind: 'accepted' });
  if (wasAuthenticated || state.shown.state !== 'authenticated' || state.connection === null) return;
  state.parts.delivery.begin(state.connection.delivering(acks));
}

const closeCodeOf = (event: LinkEvent): number | null =>
  event.kind === 'closed' && event.by === 'cloud' ? event.code : null;

const isLegacy = (message: CloudMessage): message is LegacyMessage =>
  (legacyMessageTypes as readonly string[]).includes(message.type);

/** Decides which of several backends holds the link. */
export type CloudLeadership = {
  isLeader(): boolean;
  subscribe(listener: (isLeader: boolean) => void): Disposable;
};

export type LinkKeeper = AsyncDisposable & {
  /** The stored credentials may have changed, also by another backend. */
  check(): Promise<void>;
  /**
   * Changes the stored credentials and updates the link.
   * @throws (rejects) the error of `work`; the link is then unchanged.
   */
  change(work: () => Promise<void>): Promise<void>;
};

/** Detects changes without a notification: one may be lost, or the database was offline. */
const checkEveryMs = 5_000;

/**
 * Runs the link on the leading backend only, with the stored credentials. No other code starts it, so a late start cannot follow a stop.
 * @param parts.credentials reads the stored credentials.
 */
export function startLinkKeeper(parts: {
  link: Pick<Link, 'start' | 'stop' | 'credentials'>;
  credentials(): Promise<Credentials>;
  leadership: CloudLeadership;
  run: ExclusiveRunner['run'];
  onFault(error: unknown): void;
  /** After `change`. */
  onChanged(): void;
  clock: Clock;
}): LinkKeeper {
  const { link, leadership, run, clock } = parts;
  const ending = new AbortController();
  const { signal } = ending;
  let lastFault: string | null = null;

  const mayHold = (): boolean => !signal.aborted && leadership.isLeader();
  const follow = async (): Promise<void> => {
    try {
      const wanted = mayHold() ? await parts.credentials() : null;
      lastFault = null;
      // Checked again: the leadership may be lost during the read.
      if (wanted === null || !mayHold()) return link.stop();
      if (!isDeepStrictEqual(wanted, link.credentials())) link.start(wanted);
    } catch (error) {
      const fault = describeError(error);
      if (fault !== lastFault) parts.onFault(error);
      lastFault = fault;
    }
  };
  const check = (): Promise<void> => run(follow);
  const keep = async (): Promise<void> => {
    while (!signal.aborted) {
      await check();
      await clock.sleep(checkEveryMs, signal).catch(() => undefined);
    }
  };
  const following = leadership.subscribe((isLeader) => (isLeader ? void check() : link.stop()));
  const keeping = keep();
  return {
    check,
    change: async (work) => {
      await run(async () => {
        await work();
        await follow();
      });
      parts.onChanged();
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      link.stop();
      following[Symbol.dispose]();
      await keeping;
    },
  };
}
