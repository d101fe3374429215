import type { Clock } from '@station/kit/clock';
import { legacyMessageTypes, type CloudMessage, type LegacyMessage } from '@station/protocol/cloud-messages';
import type { CloudNotification } from '@station/protocol/cloud-rpc';
import type { CloudSocket, OpenCloudSocket } from '../adapters/cloud-socket.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { Delivery } from './delivery.ts';
import { fitsFrame } from './frames.ts';
import type { IgnoredMessages } from './ignored-messages.ts';
import type { BudgetLimits } from './inbound-budget.ts';
import { createInboundQueue, type InboundQueue } from './inbound-queue.ts';
import { createLinkMachine, type LinkAction, type LinkEvent, type LinkView } from './link-machine.ts';
import { createPeer, type Peer, type RpcMethod } from './peer.ts';
import type { Reconnect } from './reconnect.ts';

export type LinkParts = {
  host: string;
  open: OpenCloudSocket;
  reconnect: Reconnect;
  limits: BudgetLimits;
  methods: Readonly<Record<string, RpcMethod>>;
  delivery: Delivery;
  ignored: IgnoredMessages;
  /** The cloud gave a claimed station its token; whoever keeps it starts the link anew with it. */
  onClaimed(stationToken: string): void;
  /** Messages that change the station, in order. @returns when it was obeyed: nothing more is read before. Must not reject. */
  onLegacy(message: LegacyMessage): Promise<void>;
  /** `view()` may have become different. */
  onChange(): void;
  clock: Clock;
  logger: BackendLogger;
};

/** What to show: the token of a claimed station, or what proves that someone stands before it. */
export type Credentials =
  { kind: 'claimed'; stationToken: string } | { kind: 'unclaimed'; chipId: string; claimSecret: string };

export type Link = {
  /** Makes a connection with these, also in place of one there is. */
  start(credentials: Credentials): void;
  stop(): void;
  /** What it was started with; null while it is stopped. */
  credentials(): Credentials | null;
  view(): LinkView;
  /** When the other side was heard last, by the clock that only goes forward. */
  heardAtMs(): number | null;
  /** Sends a plain message, if the link is up. */
  say(message: object): void;
  /** Ends the connection and makes it anew by the rules. */
  giveUp(reason: string): void;
};

/** More than this, and the cloud does not read: the connection is ended, what mattered is sent again on the next one. */
const maxBacklogBytes = 8 * 1024 * 1024;

/** Whoever is on a list of members may have to be written: as much work as a few calls. */
const framesAPerson = 4;

/** What people are told anew when it changes. */
const shownKeys = ['state', 'nextAttemptAtMs', 'lastError', 'trouble'] as const;

/** `isCalling`: a ping went out, and nothing was heard since. */
type Connection = { socket: CloudSocket; peer: Peer; inbound: InboundQueue; isCalling: boolean };

/** The link machine with a real socket and a real clock. */
export function createLink(parts: LinkParts): Link {
  const { clock, logger, delivery, host } = parts;
  const machine = createLinkMachine(parts.reconnect);
  let credentials: Credentials | null = null;
  let connection: Connection | null = null;
  let waking = new AbortController();
  let shown = machine.view();
  let heardAtMs: number | null = null;

  const tell = (event: LinkEvent): void => {
    const before = shown;
    for (const action of machine.on(event, clock.monotonic())) act(action);
    shown = machine.view();
    waking.abort();
    waking = new AbortController();
    const wakeAt = machine.wakeAtMs();
    if (wakeAt !== null) wake(wakeAt, waking.signal);
    if (before.state === 'authenticated' && shown.state !== 'authenticated') delivery.end(codeOf(event));
    if (shownKeys.every((key) => before[key] === shown[key])) return;
    logChange(before, shown);
    parts.onChange();
  };

  const wake = (atMs: number, signal: AbortSignal): void => {
    // The timer may be a little early by the clock that only goes forward.
    const waitMs = Math.max(1, Math.ceil(atMs - clock.monotonic()));
    clock.sleep(waitMs, signal).then(
      () => signal.aborted || tell({ kind: 'time', isDeaf: connection?.inbound.isHeld() ?? false }),
      () => undefined,
    );
  };

  const logChange = (before: LinkView, after: LinkView): void => {
    if (after.state === 'authenticated') return logger.event('cloud_link_up', { host });
    if (after.nextAttemptAtMs === null || before.nextAttemptAtMs === after.nextAttemptAtMs) return;
    const retryInMs = Math.round(after.nextAttemptAtMs - clock.monotonic());
    const reason = after.lastError ?? '';
    logger.event(after.state === 'rejected' ? 'cloud_rejected' : 'cloud_link_down', { host, reason, retryInMs });
  };

  const act = (action: LinkAction): void => {
    switch (action) {
      case 'connect':
        connection = connect();
        return;
      case 'end':
        connection?.inbound.close();
        connection?.peer.close();
        connection?.socket.end();
        connection = null;
        return;
      case 'ping':
        delivery.pinged();
        if (connection === null) return;
        connection.isCalling = true;
        connection.socket.ping();
        return;
      case 'send_auth':
        if (credentials?.kind === 'claimed') say({ type: 'station_auth', stationToken: credentials.stationToken });
        return;
      case 'send_claim':
        if (credentials?.kind !== 'unclaimed') return;
        say({ type: 'claim_handshake', chipId: credentials.chipId, claimSecret: credentials.claimSecret });
        return;
    }
  };

  const say = (message: object): void => connection?.socket.send(JSON.stringify(message));

  const connect = (): Connection => {
    const isCurrent = (): boolean => connection === made;
    const hear = (): void => {
      heardAtMs = clock.monotonic();
      if (!made.isCalling) return;
      made.isCalling = false;
      tell({ kind: 'pong' });
    };
    const socket = parts.open({
      onOpen: () => isCurrent() && tell({ kind: 'opened' }),
      onPong: () => {
        if (!isCurrent()) return;
        hear();
        delivery.ponged();
      },
      onMessage: (text, bytes) => {
        if (!isCurrent()) return;
        // Its pong may be behind a thousand frames that wait for their turn.
        hear();
        inbound.push(text, bytes);
      },
      onClose: (loss) => {
        if (!isCurrent()) return;
        inbound.close();
        peer.close();
        connection = null;
        tell({ kind: 'closed', ...loss });
      },
    });
    const send = (text: string, done?: () => void): void => {
      socket.send(text, (error) => error === undefined && done?.());
      if (socket.bufferedAmount > maxBacklogBytes && isCurrent()) giveUp('The cloud does not read what it is sent.');
    };
    const peer = createPeer({
      send,
      methods: parts.methods,
      isAuthenticated: () => isCurrent() && shown.state === 'authenticated',
      onMessage: (message) => (isCurrent() ? receive(message) : undefined),
      onBatch: (calls) => inbound.charge(calls),
      onIgnored: parts.ignored.count,
      onFault: (where, message) => logger.event('unexpected_error', { where, message }),
    });
    const inbound = createInboundQueue({
      limits: parts.limits,
      pause: socket.pause,
      resume: socket.resume,
      deal: (text) => (isCurrent() ? peer.receive(text) : undefined),
    });
    const made: Connection = { socket, peer, inbound, isCalling: false };
    return made;
  };

  const giveUp = (reason: string): void => tell({ kind: 'given_up', reason });

  const receive = (message: CloudMessage): Promise<void> | undefined => {
    if (!isLegacy(message)) return void answered(message);
    if (shown.state !== 'authenticated') return void parts.ignored.count('too_early');
    if (message.type === 'identity_sync') connection?.inbound.charge(framesAPerson * message.members.length + 1);
    return parts.onLegacy(message);
  };

  const answered = (message: Exclude<CloudMessage, LegacyMessage>): void => {
    switch (message.type) {
      case 'auth_ok':
        return authenticated(message.acks ?? false);
      case 'auth_error':
        return tell({ kind: 'refused', reason: message.reason ?? 'The cloud does not accept the station’s token.' });
      case 'claim_success':
        if (credentials?.kind !== 'unclaimed') return parts.ignored.count('too_early');
        return parts.onClaimed(message.stationToken);
      case 'ack':
        // As many as the station sent messages: they are not what a flood is made of.
        if (delivery.acknowledge(message.seq)) connection?.inbound.forgive();
        return;
    }
  };

  const authenticated = (acks: boolean): void => {
    const wasAuthenticated = shown.state === 'authenticated';
    tell({ kind: 'accepted' });
    if (wasAuthenticated || shown.state !== 'authenticated' || connection === null) return;
    const { socket } = connection;
    delivery.begin({
      acks,
      bufferedBytes: () => socket.bufferedAmount,
      giveUp,
      notify: (method: CloudNotification, params, done) => {
        const text = JSON.stringify({ jsonrpc: '2.0', method, params });
        if (!fitsFrame(text)) return false;
        socket.send(text, (error) => error === undefined && done?.());
        return true;
      },
    });
  };

  return {
    start: (given) => {
      credentials = given;
      tell({ kind: 'start', claimed: given.kind === 'claimed' });
    },
    stop: () => {
      credentials = null;
      tell({ kind: 'stop' });
    },
    credentials: () => credentials,
    view: () => machine.view(),
    heardAtMs: () => heardAtMs,
    say,
    giveUp,
  };
}

const codeOf = (event: LinkEvent): number | null =>
  event.kind === 'closed' && event.by === 'cloud' ? event.code : null;

const isLegacy = (message: CloudMessage): message is LegacyMessage =>
  (legacyMessageTypes as readonly string[]).includes(message.type);
