import { type Clock, isoTime } from '@station/kit/clock';
import { createConditions } from '@station/kit/conditions';
import type { ExclusiveRunner } from '@station/kit/exclusive-runner';
import { after } from '@station/kit/timers';
import type { CloudCondition, CloudStatus } from '@station/protocol/cloud';
import { type CloudConditionId, cloudConditions } from '@station/protocol/cloud-conditions';
import type { BackendLogger } from '@station/kit/logger';
import type { SocketHub } from '../socket/hub.ts';
import type { CloudConfig } from './cloud-config-store.ts';
import type { LinkTrouble, LinkView } from './link-decide.ts';
import type { DeadLetterStore } from './dead-letter-store.ts';
import type { OutboxStore } from './outbox-store.ts';

/** The status for people (contracts, section 9), read again at each call. */
export function createStatusReader(parts: {
  host: string;
  maxBytes: number;
  /** Null: another backend holds the link. */
  view(): (LinkView & { receivedAtMs: number | null }) | null;
  config: { read(): Promise<CloudConfig> };
  outbox: Pick<OutboxStore, 'size'>;
  deadLetters: Pick<DeadLetterStore, 'size'>;
  conditions: CloudConditions;
  askedAt(): string | null;
  clock: Clock;
}): () => Promise<CloudStatus> {
  const { host, maxBytes, outbox, deadLetters, clock } = parts;
  const wall = createWallTimes(clock);
  return async () => {
    const config = await parts.config.read();
    const size = await outbox.size();
    const dead = await deadLetters.size();
    const view = parts.view();
    const isClaimed = config.stationToken !== null;
    const resting = isClaimed ? 'offline' : 'unclaimed';
    const conditions = parts.conditions.update({
      now: clock.now(),
      isClaimed,
      isKeyLost: !isClaimed && config.claimedAt !== null,
      link: view && {
        isRejected: view.state === 'rejected',
        trouble: view.trouble,
        downSince: wall('down', view.downSinceMs),
      },
      outbox: { bytes: size.bytes, maxBytes, dropped: config.dropped },
      deadLetters: dead,
    });
    return {
      state: view?.state ?? resting,
      host,
      isHeldHere: view !== null,
      connectedSince: iso(wall('connected', view?.authenticatedAtMs ?? null)),
      claimedAt: isClaimed ? iso(config.claimedAt) : null,
      lastHeardAt: iso(wall('received', view?.receivedAtMs ?? null)),
      lastError: view === null ? 'Another backend of this station holds the link.' : view.lastError,
      nextAttemptAt: iso(wall('next', view?.nextAttemptAtMs ?? null)),
      activeChannels: [...config.activeChannels],
      outbox: {
        pending: size.pending,
        oldestAt: iso(size.oldestAt),
        bytes: size.bytes,
        maxBytes,
        dropped: config.dropped,
        deadLetters: dead.count,
      },
      conditions,
      askedAt: parts.askedAt(),
    };
  };
}

const iso = (epochMs: number | null): string | null => (epochMs === null ? null : isoTime(epochMs));

/** Status of a station without a cloud. */
export const disabledStatus: CloudStatus = {
  state: 'disabled',
  host: null,
  isHeldHere: true,
  connectedSince: null,
  claimedAt: null,
  lastHeardAt: null,
  lastError: null,
  nextAttemptAt: null,
  activeChannels: [],
  outbox: { pending: 0, oldestAt: null, bytes: 0, maxBytes: 0, dropped: 0, deadLetters: 0 },
  conditions: [],
  askedAt: null,
};

export type StatusBroadcaster = Disposable & {
  /** Reads the status and broadcasts it at `/ws` if it changed. */
  broadcast(): void;
  /** Always broadcasts it: the claim code changed, which is not part of the status. */
  broadcastAlways(): void;
  /** As `broadcast`, but delayed: frequent changes cause only a few broadcasts. */
  broadcastSoon(): void;
  /** The outbox is empty: broadcasts soon, if the last status showed waiting messages. */
  drained(): void;
};

const soonMs = 500;

/** @param parts.latest the current status; a new client at `/ws` gets the one that was read last. */
export function createStatusBroadcaster(parts: {
  latest: CloudStatus;
  read(): Promise<CloudStatus>;
  hub: Pick<SocketHub, 'broadcast' | 'replay'>;
  run: ExclusiveRunner['run'];
  onFault(error: unknown): void;
  clock: Clock;
}): StatusBroadcaster {
  let { latest } = parts;
  const message = () => ({ type: 'cloud_status', at: isoTime(parts.clock.now()), status: latest }) as const;
  const refresh = async (evenIfSame: boolean): Promise<void> => {
    const before = JSON.stringify(latest);
    latest = await parts.read();
    if (evenIfSame || JSON.stringify(latest) !== before) parts.hub.broadcast(message(), 'cloud_status');
  };
  const start = (evenIfSame: boolean): void => void parts.run(() => refresh(evenIfSame)).catch(parts.onFault);
  let soon: Disposable | null = null;
  const broadcastSoon = (): void => {
    soon ??= after(soonMs, () => {
      soon = null;
      start(false);
    });
  };
  const replaying = parts.hub.replay(() => [message()]);
  return {
    broadcast: () => start(false),
    broadcastAlways: () => start(true),
    broadcastSoon,
    drained: () => {
      if (latest.outbox.pending > 0) broadcastSoon();
    },
    [Symbol.dispose]: () => {
      soon?.[Symbol.dispose]();
      replaying[Symbol.dispose]();
    },
  };
}

/** Facts for the conditions. Times are milliseconds since the epoch. */
export type CloudFacts = {
  now: number;
  isClaimed: boolean;
  /** The station was claimed, but its log-in can no longer be read. */
  isKeyLost: boolean;
  /** Null: another backend holds the link. */
  link: { isRejected: boolean; trouble: LinkTrouble | null; downSince: number | null } | null;
  outbox: { bytes: number; maxBytes: number; dropped: number };
  deadLetters: { count: number; oldestAt: number | null };
};

/** A short outage, such as a router restart, raises no condition. */
export const unreachableAfterMs = 15 * 60_000;
const nearlyFull = 0.8;
/** A trimmed outbox is just below the limit. */
const full = 0.98;

/** The conditions that follow from these facts. `since` is null when it is unknown. */
export function conditionsOf(facts: CloudFacts): { id: CloudConditionId; since: number | null }[] {
  const { now, isClaimed, isKeyLost, link, outbox, deadLetters } = facts;
  const found: { id: CloudConditionId; since: number | null }[] = [];
  const raise = (id: CloudConditionId, since: number | null = null): void => void found.push({ id, since });
  if (isKeyLost) raise('cloud_key_lost');
  if (link?.isRejected) raise('cloud_rejected');
  if (link?.trouble === 'certificate') raise('cloud_certificate_untrusted');
  if (link?.trouble === 'clock') raise('cloud_clock_wrong');
  const isExplained = link === null || link.isRejected || link.trouble !== null;
  const downSince = link?.downSince ?? null;
  if (isClaimed && !isExplained && downSince !== null && now - downSince >= unreachableAfterMs) {
    raise('cloud_unreachable', downSince);
  }
  const filled = outbox.bytes / outbox.maxBytes;
  if (isClaimed && filled >= full && outbox.dropped > 0) raise('cloud_outbox_full');
  else if (isClaimed && filled >= nearlyFull) raise('cloud_outbox_nearly_full');
  if (deadLetters.count > 0) raise('cloud_dead_letters', deadLetters.oldestAt);
  return found;
}

/** Updates the conditions from the facts, and logs each change. */
type CloudConditions = { update(facts: CloudFacts): CloudCondition[] };

export function createCloudConditions({ clock, logger }: { clock: Clock; logger: BackendLogger }): CloudConditions {
  const conditions = createConditions({
    catalogue: cloudConditions,
    clock,
    onRaised: ({ id, severity }) => logger.event('cloud_condition_raised', { condition: id, severity }),
    onCleared: (id) => logger.event('cloud_condition_cleared', { condition: id }),
  });
  return {
    update: (facts) => {
      const found = new Map(conditionsOf(facts).map(({ id, since }) => [id, since]));
      for (const id of Object.keys(cloudConditions) as CloudConditionId[]) {
        conditions.set(id, found.has(id), found.get(id) ?? undefined);
      }
      return conditions.list();
    },
  };
}

/** A clock that was set counts as a change; a small drift between the two clocks does not. */
const toleranceMs = 1_000;

/**
 * Converts monotonic to wall-clock time. The same moment always gives the same millisecond, so that an unchanged status is not broadcast
 * again.
 * @param name of the moment; there is one moment for each name. @returns milliseconds since the epoch.
 */
export function createWallTimes(clock: Clock): (name: string, monotonicMs: number | null) => number | null {
  const known = new Map<string, { monotonicMs: number; wallMs: number }>();
  return (name, monotonicMs) => {
    if (monotonicMs === null) return null;
    const wallMs = Math.round(clock.now() + monotonicMs - clock.monotonic());
    const before = known.get(name);
    if (before?.monotonicMs === monotonicMs && Math.abs(before.wallMs - wallMs) < toleranceMs) return before.wallMs;
    known.set(name, { monotonicMs, wallMs });
    return wallMs;
  };
}
