import type { CloudState } from '@station/protocol/cloud';
import { tokenRejectedCode } from '@station/protocol/cloud-messages';
import type { LossKind, Reconnect } from './reconnect.ts';

/** What makes a secure connection impossible, whoever tries. */
export type LinkTrouble =
  /** Whoever answers does not prove to be the cloud. */
  | 'certificate'
  /** Its certificate is not valid yet, by the clock of this machine. */
  | 'clock';

/** What happened to the link. */
export type LinkEvent =
  /** There is a cloud to talk to, or another way to talk to it; `claimed`: and a token to show it. */
  | { kind: 'start'; claimed: boolean }
  /** Another backend holds the link now, or this one ends. */
  | { kind: 'stop' }
  | { kind: 'opened' }
  | { kind: 'accepted' }
  | { kind: 'refused'; reason: string }
  /** The other side was heard: its answer to a ping, or anything else that it said after it. */
  | { kind: 'pong' }
  /** `by`: who ended it; `cloud` also for a connection that was reset. */
  | { kind: 'closed'; by: 'cloud' | 'network'; code: number | null; reason: string; trouble?: LinkTrouble | null }
  /** It is of no use any more: the cloud does not read, or does not acknowledge. */
  | { kind: 'given_up'; reason: string }
  /** The time of `wakeAtMs` has come. `isDeaf`: the station itself does not read now, so that nothing is heard says nothing. */
  | { kind: 'time'; isDeaf?: boolean };

/** What is to be done about it. */
export type LinkAction = 'connect' | 'send_claim' | 'send_auth' | 'ping' | 'end';

export type LinkView = {
  state: Exclude<CloudState, 'disabled'>;
  authenticatedAtMs: number | null;
  lastError: string | null;
  /** Of the latest attempt. */
  trouble: LinkTrouble | null;
  /** Since when it is not authenticated; null while it is, or when nobody tries. */
  downSinceMs: number | null;
  nextAttemptAtMs: number | null;
};

export type LinkMachine = {
  /** @param nowMs of a clock that only goes forward. */
  on(event: LinkEvent, nowMs: number): LinkAction[];
  /** When it wants to be told of the time; null while it only waits for others. */
  wakeAtMs(): number | null;
  view(): LinkView;
};

type Phase =
  | { kind: 'stopped' }
  | { kind: 'waiting'; untilMs: number }
  | { kind: 'connecting'; deadlineMs: number }
  /** Open, and the other side has not let us in yet; without a deadline while it waits for a person to claim the station. */
  | { kind: 'knocking'; deadlineMs: number | null; ping: Ping }
  | { kind: 'authenticated'; sinceMs: number; ping: Ping; isStable: boolean };
type Ping = { nextMs: number; isAwaited: boolean };

/** Specification, "Limits". */
export const pingEveryMs = 30_000;
const connectTimeoutMs = 15_000;
const authTimeoutMs = 15_000;
/** A link that is lost sooner counts as one more failure. */
export const stableAfterMs = 20_000;

/**
 * The life of the link as facts in and actions out: no socket, no timer, no clock. Whatever it is told, also out of turn, it has one
 * connection at most and a time at which it goes on.
 */
export function createLinkMachine(reconnect: Reconnect): LinkMachine {
  let phase: Phase = { kind: 'stopped' };
  let claimed = false;
  let isRejected = false;
  let lastError: string | null = null;
  let trouble: LinkTrouble | null = null;
  let downSinceMs: number | null = null;

  const wait = (kind: LossKind, reason: string, nowMs: number): LinkAction[] => {
    lastError = reason;
    downSinceMs ??= nowMs;
    isRejected ||= kind === 'rejected';
    // One that was rejected stays in the slow lane, whatever goes wrong next.
    const untilMs = nowMs + reconnect.nextMs(isRejected ? 'rejected' : kind);
    const wasOpen = phase.kind === 'connecting' || phase.kind === 'knocking' || phase.kind === 'authenticated';
    phase = { kind: 'waiting', untilMs };
    return wasOpen ? ['end'] : [];
  };
  const connect = (nowMs: number): LinkAction[] => {
    phase = { kind: 'connecting', deadlineMs: nowMs + connectTimeoutMs };
    return ['connect'];
  };

  const start = (event: { claimed: boolean }, nowMs: number): LinkAction[] => {
    const wasOpen = phase.kind !== 'stopped' && phase.kind !== 'waiting';
    claimed = event.claimed;
    isRejected = false;
    lastError = null;
    trouble = null;
    downSinceMs = nowMs;
    return [...(wasOpen ? (['end'] as const) : []), ...connect(nowMs)];
  };
  const opened = (nowMs: number): LinkAction[] => {
    if (phase.kind !== 'connecting') return [];
    trouble = null;
    // It is reached, and that is all there is to it until a person claims the station.
    if (!claimed) lastError = null;
    const ping = { nextMs: nowMs + pingEveryMs, isAwaited: false };
    phase = { kind: 'knocking', deadlineMs: claimed ? nowMs + authTimeoutMs : null, ping };
    return [claimed ? 'send_auth' : 'send_claim'];
  };
  const accepted = (nowMs: number): LinkAction[] => {
    if (phase.kind !== 'knocking' || !claimed) return [];
    phase = { kind: 'authenticated', sinceMs: nowMs, ping: phase.ping, isStable: false };
    isRejected = false;
    lastError = null;
    downSinceMs = null;
    reconnect.accepted();
    return [];
  };
  const closed = (event: Extract<LinkEvent, { kind: 'closed' }>, nowMs: number): LinkAction[] => {
    if (phase.kind === 'stopped' || phase.kind === 'waiting') return [];
    const wasMade = phase.kind !== 'connecting';
    trouble = event.trouble ?? null;
    // Already gone: nothing is left to be ended.
    const without = (actions: LinkAction[]): LinkAction[] => actions.filter((action) => action !== 'end');
    if (event.code === tokenRejectedCode) return without(wait('rejected', event.reason, nowMs));
    return without(wait(wasMade && event.by === 'cloud' ? 'ended_by_cloud' : 'not_reached', event.reason, nowMs));
  };
  const ping = (state: Ping, isDeaf: boolean, nowMs: number): LinkAction[] => {
    if (nowMs < state.nextMs) return [];
    if (state.isAwaited && !isDeaf) return wait('not_reached', 'The cloud did not answer a ping.', nowMs);
    state.isAwaited = true;
    state.nextMs = nowMs + pingEveryMs;
    return ['ping'];
  };
  const time = ({ isDeaf = false }: { isDeaf?: boolean }, nowMs: number): LinkAction[] => {
    switch (phase.kind) {
      case 'stopped':
        return [];
      case 'waiting':
        return nowMs >= phase.untilMs ? connect(nowMs) : [];
      case 'connecting':
        return nowMs >= phase.deadlineMs ? wait('not_reached', 'The cloud could not be reached in time.', nowMs) : [];
      case 'knocking':
        if (phase.deadlineMs !== null && nowMs >= phase.deadlineMs) {
          return wait('not_reached', 'The cloud did not answer the log-in in time.', nowMs);
        }
        return ping(phase.ping, isDeaf, nowMs);
      case 'authenticated':
        if (!phase.isStable && nowMs - phase.sinceMs >= stableAfterMs) {
          phase.isStable = true;
          reconnect.stable();
        }
        return ping(phase.ping, isDeaf, nowMs);
    }
  };

  return {
    on: (event, nowMs) => {
      switch (event.kind) {
        case 'start':
          return start(event, nowMs);
        case 'stop': {
          const wasOpen = phase.kind !== 'stopped' && phase.kind !== 'waiting';
          phase = { kind: 'stopped' };
          trouble = null;
          downSinceMs = null;
          return wasOpen ? ['end'] : [];
        }
        case 'opened':
          return opened(nowMs);
        case 'accepted':
          return accepted(nowMs);
        case 'refused':
          return phase.kind === 'authenticated' || phase.kind === 'knocking'
            ? wait('rejected', event.reason, nowMs)
            : [];
        case 'pong':
          if (phase.kind === 'knocking' || phase.kind === 'authenticated') phase.ping.isAwaited = false;
          return [];
        case 'closed':
          return closed(event, nowMs);
        case 'given_up':
          return phase.kind === 'authenticated' || phase.kind === 'knocking'
            ? wait('not_reached', event.reason, nowMs)
            : [];
        case 'time':
          return time(event, nowMs);
      }
    },
    wakeAtMs: () => wakeAt(phase),
    view: () => ({
      state: stateOf(phase, claimed, isRejected),
      authenticatedAtMs: phase.kind === 'authenticated' ? phase.sinceMs : null,
      lastError,
      trouble,
      downSinceMs,
      nextAttemptAtMs: phase.kind === 'waiting' ? phase.untilMs : null,
    }),
  };
}

function wakeAt(phase: Phase): number | null {
  switch (phase.kind) {
    case 'stopped':
      return null;
    case 'waiting':
      return phase.untilMs;
    case 'connecting':
      return phase.deadlineMs;
    case 'knocking':
      return Math.min(phase.deadlineMs ?? Infinity, phase.ping.nextMs);
    case 'authenticated':
      return phase.isStable ? phase.ping.nextMs : Math.min(phase.ping.nextMs, phase.sinceMs + stableAfterMs);
  }
}

function stateOf(phase: Phase, claimed: boolean, isRejected: boolean): LinkView['state'] {
  if (phase.kind === 'authenticated') return 'authenticated';
  // Also while it is tried again: nobody should take that for a cure.
  if (isRejected) return 'rejected';
  if (!claimed) return 'unclaimed';
  return phase.kind === 'stopped' || phase.kind === 'waiting' ? 'offline' : 'connecting';
}
